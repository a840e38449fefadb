import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SETTINGS } from '../../src/config.ts'
import type { ReadRecord } from '../../src/import/record.ts'
import { commandTree } from '../support/command-tree.ts'
import { cleanUp } from '../support/executable.ts'

afterAll(cleanUp)

let readme: string
beforeAll(async () => {
  readme = await Bun.file(join(import.meta.dir, '..', '..', 'README.md')).text()
})

/** The rows of the README's table whose first column has this heading, cell by cell. */
function table(heading: string): string[][] {
  const pattern = `^\\| ${heading} +\\|.*\\n\\|[-| ]+\\n((?:\\|.*\\n)+)`
  const [, rows = ''] = new RegExp(pattern, 'm').exec(readme) ?? []
  return rows
    .trimEnd()
    .split('\n')
    .map(row =>
      row
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim()),
    )
}

describe('the README', () => {
  test('has a row for every command, with every option, and for no other', async () => {
    const commands = (await commandTree()).filter(level => level.commands.length === 0)
    const rows = table('command').map(([cell = '']) => cell)
    expect(rows.map(cell => /^`axport ([a-z ]+?)(?= ?(?:[A-Z[`]|--))/.exec(cell)?.[1]).sort()).toEqual(
      commands.map(({ path }) => path.join(' ')).sort(),
    )
    for (const { path, options } of commands) {
      const row = rows.find(cell => cell.startsWith(`\`axport ${path.join(' ')}`))
      for (const option of options) if (option !== '--help') expect(row).toContain(option)
    }
  })

  test('has a row for every setting with its default and meaning, and for no other', () => {
    expect(table('setting')).toEqual(
      Object.entries(SETTINGS).map(([name, setting]) => [
        `\`${name}\``,
        'fallback' in setting ? `\`${setting.fallback}\`` : 'none',
        setting.meaning,
      ]),
    )
  })

  test('names every exit code, and the limits that the code has', async () => {
    const { MAX_LINE } = await import('../../src/import/lines.ts')
    expect(readme).toMatch(/Exit codes: 0 done, 1 failed, 2 called wrongly/)
    expect(readme).toContain(MAX_LINE.toLocaleString('en-US'))
    expect(readme).toContain('500 characters')
  })

  test('shows an example of the import format that can be imported as it is', async () => {
    const { ndjson } = await import('../../src/import/ndjson.ts')
    const lines = readme.split('\n').filter(line => line.startsWith('{"type":'))
    const chunks = (async function* () {
      yield new TextEncoder().encode(lines.join('\n'))
    })()
    const source = ndjson({ chunks })
    const read: ReadRecord[] = []
    for await (const records of source.read(() => {}))
      for (const record of records) {
        if (record.read instanceof Error) throw record.read
        read.push(record.read)
      }
    expect([source.isWhole(), source.notes()]).toEqual([true, []])
    expect(new Set(read.map(({ type }) => type))).toEqual(
      new Set(['organization', 'product', 'user', 'assessment']),
    )
    const users = new Set(read.filter(({ type }) => type === 'user').map(({ row }) => row.id))
    for (const { parts } of read) for (const part of parts) expect(users).toContain(part.proctor_id)
  })

  test('names only scripts that package.json has, and only files that there are', async () => {
    const root = join(import.meta.dir, '..', '..')
    const { scripts, packageManager } = (await Bun.file(join(root, 'package.json')).json()) as {
      scripts: Record<string, string>
      packageManager: string
    }
    for (const [, version, script] of readme.matchAll(/npx -y (bun@[\d.]+) run (\w+)/g)) {
      expect(version).toBe(packageManager)
      expect(Object.keys(scripts)).toContain(script as string)
    }
    for (const [, path] of readme.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      expect({ path, exists: await Bun.file(join(root, path as string)).exists() }).toEqual({
        path: path as string,
        exists: true,
      })
  })
})

test('the documents name files and folders of tests that are there', async () => {
  const root = join(import.meta.dir, '..', '..')
  let named = 0
  for (const document of ['README.md', 'src/README.md', 'db/README.md', 'test/README.md']) {
    const text = await Bun.file(join(root, document)).text()
    for (const [, path = ''] of text.matchAll(/`test\/([\w./-]+)`/g)) {
      named += 1
      expect([document, path, existsSync(join(root, 'test', path))]).toEqual([document, path, true])
    }
  }
  expect(named).toBeGreaterThan(20)
})
