import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { COMMANDS_PAGE, generatedDocuments } from '../../scripts/docs.ts'
import type { ReadRow } from '../../src/import/source-rows.ts'
import { type CommandLevel, commandTree } from '../support/command-tree.ts'
import { cleanUp } from '../support/executable.ts'

afterAll(cleanUp)

const root = join(import.meta.dir, '..', '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The paths of all documents. */
const documents = ['*.md', 'src/*.md', 'db/*.md', 'test/*.md', 'docs/**/*.md'].flatMap(pattern => [
  ...new Bun.Glob(pattern).scanSync(root),
])

/** The text without its code blocks, which contain neither links nor headings. */
const withoutCode = (text: string) => text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '')

/** The anchors of a document's headings: lower case, with dashes for spaces, without other punctuation. */
function anchorsOf(path: string): string[] {
  return [...withoutCode(read(path)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

describe('the README', () => {
  const readme = read('README.md')

  test('has at most 200 lines, none wider than 120 characters, and no padded tables', () => {
    const lines = readme.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(200)
    expect(lines.filter(line => [...line].length > 120)).toEqual([])
    expect(lines.filter(line => /^\|.* {2,}\|/.test(line))).toEqual([])
  })

  test('leads to the three doors', () => {
    for (const door of ['evaluate', 'operate', 'integrate'])
      expect(readme).toContain(`](docs/${door}/README.md)`)
  })

  test('has no command that removes anything', () => {
    expect(readme.match(/axport (erase|refresh|integration (delete|rotate))/g)).toBe(null)
  })

  test('has the two commands `run demo` and `run check`, and the exit codes', () => {
    expect(readme).toContain('\nnpx -y bun@1.4.4 run demo\n')
    expect(readme).toContain('\nnpx -y bun@1.4.4 run check\n')
    expect(readme).toMatch(/Exit codes: 0 done, 1 failed, 2 called wrongly/)
  })
})

describe('the commands and settings', () => {
  let commands: CommandLevel[]
  beforeAll(async () => {
    commands = await commandTree()
  })

  test('are documented in docs/operate exactly as `bun run docs` writes them', () => {
    for (const [path, text] of Object.entries(generatedDocuments(commands, read(COMMANDS_PAGE))))
      expect(read(path), 'run: bun run docs').toBe(text)
  })

  test('have an example in docs/operate/commands.md, each one', () => {
    const sections = read(COMMANDS_PAGE).split(/^## /m)
    const names = commands
      .filter(level => level.commands.length === 0)
      .map(({ path }) => `axport ${path.join(' ')}`)
    const without = names.filter(name => {
      const section = sections.find(text => text.startsWith(`${name}\n`)) ?? ''
      return !new RegExp(`\\n\`\`\`console\\n[\\s\\S]*?^\\$ (?:\\w+=\\S+ )*${name}\\b`, 'm').test(section)
    })
    expect(names.length).toBeGreaterThan(20)
    expect(without).toEqual([])
  })
})

describe('docs/operate/data.md', () => {
  const page = read('docs/operate/data.md')

  test('names the same limits as the code', async () => {
    const { MAX_LINE } = await import('../../src/import/text.ts')
    expect(page).toContain(MAX_LINE.toLocaleString('en-US'))
    expect(page).toContain('500 characters')
  })

  test('has an example of the import format without bad lines', async () => {
    const { ndjson } = await import('../../src/import/ndjson.ts')
    const lines = page.split('\n').filter(line => line.startsWith('{"type":'))
    const chunks = (async function* () {
      yield new TextEncoder().encode(lines.join('\n'))
    })()
    const source = ndjson({ chunks })
    const read: ReadRow[] = []
    for await (const records of source.read(() => {}))
      for (const record of records) {
        if (record.read instanceof Error) throw record.read
        read.push(record.read)
      }
    expect([source.cutOff(), source.notes()]).toEqual([undefined, []])
    expect(new Set(read.map(({ type }) => type))).toEqual(
      new Set(['organization', 'product', 'user', 'assessment']),
    )
    const users = new Set(read.filter(({ type }) => type === 'user').map(({ row }) => row.id))
    for (const { parts } of read) for (const part of parts) expect(users).toContain(part.proctor_id)
  })
})

describe('the documents', () => {
  test('name only scripts that package.json has, and the exact version of Bun', () => {
    const { scripts, packageManager } = JSON.parse(read('package.json')) as {
      scripts: Record<string, string>
      packageManager: string
    }
    for (const document of documents)
      for (const [, version, script = ''] of read(document).matchAll(/npx -y (bun@[\d.]+) run ([\w:]+)/g))
        expect([document, version, Object.keys(scripts)]).toEqual([
          document,
          packageManager,
          expect.arrayContaining([script]),
        ])
  })

  test('link only to existing files and headings', () => {
    const broken: string[] = []
    let links = 0
    for (const document of documents.filter(path => path !== 'CHANGELOG.md'))
      for (const [, link = ''] of withoutCode(read(document)).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(link)) continue
        links += 1
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? document : join(dirname(document), path)
        const isThere =
          existsSync(join(root, target)) && (anchor === undefined || anchorsOf(target).includes(anchor))
        if (!isThere) broken.push(`${document}: ${link}`)
      }
    expect(broken).toEqual([])
    expect(links).toBeGreaterThan(100)
  })

  test('name only existing files and folders of code and tests', () => {
    const missing: string[] = []
    let named = 0
    for (const document of documents) {
      for (const [, path = ''] of read(document).matchAll(/`(test\/[\w./-]+|docs\/[\w./-]+)`/g)) {
        named += 1
        if (document !== 'CHANGELOG.md' && !existsSync(join(root, path))) missing.push(`${document}: ${path}`)
      }
    }
    const sources = [...new Bun.Glob('**/*.ts').scanSync(join(root, 'src'))].map(path => `/src/${path}`)
    for (const [, path = ''] of read('src/README.md').matchAll(/`([\w./-]+\.ts)`/g)) {
      named += 1
      if (!sources.some(source => source.endsWith(`/${path}`)) && !existsSync(join(root, path)))
        missing.push(`src/README.md: ${path}`)
    }
    expect(missing).toEqual([])
    expect(named).toBeGreaterThan(80)
  })

  test('use no word from the glossary\'s section "Words that are not used"', () => {
    const [, section = ''] = read('docs/glossary.md').split('## Words that are not used')
    const words = [...section.matchAll(/`([^`]+)`/g)].map(([, word]) => word as string)
    expect(words.length).toBeGreaterThan(3)
    const pattern = new RegExp(`\\b(?:${words.join('|')})\\b`, 'i')
    const found = documents
      .filter(path => !['CHANGELOG.md', 'docs/glossary.md', 'test/README.md'].includes(path))
      .flatMap(path =>
        read(path)
          .split('\n')
          .filter(line => pattern.test(line))
          .map(line => `${path}: ${line}`),
      )
    expect(found).toEqual([])
  })
})
