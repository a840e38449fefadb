import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_QUERY_BYTES } from '../../src/app/query-string.ts'
import { AT_ONCE } from '../../src/app/slow-refusals.ts'
import { readLimits } from '../../src/cli/limits.ts'
import { MAX_PAGE } from '../../src/contract.ts'
import { requestMs } from '../../src/database/bounds.ts'
import { MAX_VALUES } from '../../src/parameters.ts'

const root = join(import.meta.dir, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

test('docs/evaluate/speed.md names the same limits as the code', () => {
  const page = read('docs/evaluate/speed.md').replaceAll(/\s+/g, ' ')
  const { pool, http } = readLimits({})
  const kib = (bytes: number) => `${bytes / 1024} KiB`
  const seconds = (ms: number) => `${ms / 1000} seconds`
  for (const text of [
    `\`STATEMENT_TIMEOUT\` and ${seconds(requestMs(pool) - pool.statementMs)} after it has arrived with its body, ${seconds(requestMs(pool))} by default`,
    `503 after ${seconds(pool.waitMs)}`,
    `\`DATABASE_POOL_SIZE\` (${pool.size})`,
    `a query string of more than ${kib(MAX_QUERY_BYTES)} is 400`,
    `request line and headers of more than ${kib(http.headerSize)} are 431`,
    `a token request of more than ${kib(http.bodySize)} is 413`,
    `whose body takes longer than ${seconds(http.bodyTimeMs)} is 408`,
    `nothing moves on it for ${seconds(http.idleMs)}`,
    `A page has at most ${MAX_PAGE} records`,
    `more than ${MAX_VALUES.toLocaleString('en-US')} values of a filter are 400`,
    `a process sends ${AT_ONCE} a second at once, and each further one after a second`,
  ])
    expect(page).toContain(text)
})

describe('the documents', () => {
  const pages = [...new Bun.Glob('docs/**/*.md').scanSync(root)]

  test('are all in the index docs/README.md, which says something about each', () => {
    const index = [...read('docs/README.md').matchAll(/^- \[[^\]]+\]\(([^)#]+)\): \S/gm)]
    const listed = index.map(([, path = '']) => join('docs', path)).filter(path => path.startsWith('docs/'))
    expect(listed.sort()).toEqual(pages.filter(path => path !== 'docs/README.md').sort())
  })

  test('of the evaluate door, and about the project, link up in their first lines and end with a link', () => {
    const own = pages.filter(path => path.startsWith('docs/evaluate/'))
    for (const page of [...own, 'docs/README.md', 'SECURITY.md', 'CONTRIBUTING.md']) {
      const lines = read(page).trimEnd().split('\n')
      expect([page, lines.slice(0, 8)]).toEqual([
        page,
        expect.arrayContaining([expect.stringMatching(/^\[Up: .+\]\((?:\.\.\/)*README\.md\)$/)]),
      ])
      const paragraph = lines.slice(lines.lastIndexOf('') + 1).join(' ')
      expect([page, paragraph]).toEqual([page, expect.stringMatching(/\]\([^)]+\)/)])
    }
  })
})
