import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const root = join(import.meta.dir, '..', '..')

const FEATURES = [
  'assessments',
  'backup',
  'disclosures',
  'doctor',
  'erasure',
  'import',
  'integrations',
  'oauth',
  'pull',
  'refresh',
  'sample',
]
/**
 * The parts that each part of the code may import besides itself. Imports go one way: main → cli → http → feature →
 * tables → postgres → db. Every part may import those of COMMON; only cli may import `config`.
 */
const COMMON = [
  ...['answers', 'contract', 'counters', 'errors', 'files', 'html', 'interruption', 'limit', 'networks'],
  'random',
  'within',
]
const MAY_IMPORT: Record<string, string[]> = {
  main: ['cli', 'errors'],
  cli: ['http', 'config', 'setting-values', 'tables', 'postgres', ...FEATURES, ...COMMON],
  http: ['tables', 'postgres', 'db', ...FEATURES, ...COMMON],
  ...Object.fromEntries(FEATURES.map(name => [name, ['tables', 'postgres', 'db', ...COMMON]])),
  // pull is a client of the HTTP API, without a database.
  pull: COMMON,
  tables: ['postgres', 'db', ...COMMON],
  postgres: ['db', ...COMMON],
  db: [],
  config: ['errors', 'files', 'networks', 'setting-values'],
  'setting-values': [],
  ...Object.fromEntries(COMMON.map(name => [name, []])),
  files: ['errors'],
}

interface Module {
  path: string
  part: string
  source: string
  /** The imported files of this project as paths from the root, including imports of types and re-exports. */
  imports: string[]
}

const modules = ['src/**/*.ts', 'db/**/*.ts']
  .flatMap(pattern => [...new Bun.Glob(pattern).scanSync(root)])
  .filter(path => !path.endsWith('.d.ts'))
  .sort()
  .map(readModule)

function readModule(path: string): Module {
  const source = readFileSync(join(root, path), 'utf8')
  return {
    path,
    part: partOf(path),
    source,
    imports: specifiers(source)
      .filter(name => name.startsWith('.'))
      .map(fromRoot),
  }

  function fromRoot(specifier: string): string {
    return relative(root, resolve(root, dirname(path), specifier))
  }
}

/** `import … from 'x'`, `import type … from 'x'`, `export … from 'x'`, `import 'x'` and `import('x')`. */
function specifiers(source: string): string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  const statements = code.matchAll(/^(?:import|export)\b[^'"`;]*?\bfrom\s*(['"])(.+?)\1/gm)
  const bare = code.matchAll(/^import\s*(['"])(.+?)\1/gm)
  const dynamic = code.matchAll(/\bimport\(\s*(['"`])(.+?)\1/g)
  return [...statements, ...bare, ...dynamic].map(match => match[2] as string)
}

/** The part of a file: "cli" for src/cli/serve.ts, "errors" for src/errors.ts, "db" for db/schema.ts. */
function partOf(path: string): string {
  const [top, second = ''] = path.split('/')
  return top === 'src' ? second.replace(/\.ts$/, '') : (top ?? '')
}

/** Whether a file is outside of src and db: a file of a package, or package.json for the version. */
const isForeign = (target: string) => target.startsWith('node_modules/') || target === 'package.json'

const edges = modules
  .flatMap(({ path, part, imports }) => imports.map(target => ({ path, part, target })))
  .filter(({ target }) => !isForeign(target))

describe('the modules of src and db', () => {
  test('are all in a part that MAY_IMPORT lists', () => {
    expect(modules.filter(({ part }) => !(part in MAY_IMPORT)).map(({ path }) => path)).toEqual([])
    expect(modules.length).toBeGreaterThan(40)
    expect(edges.length).toBeGreaterThan(80)
  })

  test('import existing files, with their extension', () => {
    const missing = edges.filter(({ target }) => !existsSync(join(root, target)))
    expect(missing.map(({ path, target }) => `${path} → ${target}`)).toEqual([])
  })

  test('import in one direction only: main, cli, http, one feature, tables, postgres, db; the parts of COMMON import only one another', () => {
    const wrong = edges.filter(({ part, target }) => {
      const to = partOf(target)
      return to !== part && !MAY_IMPORT[part]?.includes(to)
    })
    expect(wrong.map(({ path, target }) => `${path} → ${target}`)).toEqual([])
  })

  test('have no import cycles', () => {
    const graph = new Map(modules.map(({ path, imports }) => [path, imports]))
    const done = new Set<string>()
    const visit = (path: string, above: string[]): string[] => {
      if (above.includes(path)) return [...above.slice(above.indexOf(path)), path]
      if (done.has(path)) return []
      for (const target of graph.get(path) ?? []) {
        const circle = visit(target, [...above, path])
        if (circle.length > 0) return circle
      }
      done.add(path)
      return []
    }
    for (const { path } of modules) expect(visit(path, [])).toEqual([])
  })

  test('have at most 300 lines', () => {
    const long = modules
      .filter(({ source }) => source.trimEnd().split('\n').length > 300)
      .map(({ path }) => path)
    expect(long).toEqual([])
  })

  test('read the environment in config only, and call process.exit in main only', () => {
    const using = (pattern: RegExp) =>
      modules.filter(({ source }) => pattern.test(source)).map(({ path }) => path)
    expect(using(/\b(process|Bun|import\.meta)\.env\b|\benv\b.*from 'node:process'/)).toEqual([
      'src/config.ts',
    ])
    expect(using(/\bprocess\.(exit|abort|exitCode|reallyExit)\b/)).toEqual(['src/main.ts'])
    // Signal 0 asks whether a process runs.
    expect(using(/\bprocess\.kill\b(?!\(pid, 0\))/)).toEqual([])
    expect(using(/\bconsole\./)).toEqual([])
  })
})

test('modules that answer requests send no requests and start no programs', () => {
  const answering = modules.filter(({ part }) => ['http', 'oauth', 'assessments', 'answers'].includes(part))
  const requesting =
    /\bfetch\b(?!:)|\bWebSocket\b|\bBun\.(connect|spawn|spawnSync|udpSocket|\$)|\bhttp\.(request|get)\b|['"]node:(https|child_process|dgram)['"]|\b(connect|createConnection)\(/
  expect(answering.length).toBeGreaterThan(15)
  expect(answering.filter(({ source }) => requesting.test(source)).map(({ path }) => path)).toEqual([])
})

test('importing every module but main opens nothing, prints nothing and lets the process end by itself', async () => {
  const paths = modules.map(({ path }) => path).filter(path => path !== 'src/main.ts')
  const script = `for (const path of ${JSON.stringify(paths)}) await import(${JSON.stringify(`${root}/`)} + path)`
  // A module that read one of these settings at import time would throw.
  const settings = ['DATABASE_URL', 'DATABASE_URL_FILE', 'DATABASE_POOL_SIZE', 'PORT', 'LOG_LEVEL']
  const run = Bun.spawn([process.execPath, '-e', script], {
    cwd: root,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: Object.fromEntries(settings.map(name => [name, 'nonsense'])),
  })
  const timer = setTimeout(() => run.kill('SIGKILL'), 45_000)
  const [stdout, stderr, code] = await Promise.all([run.stdout.text(), run.stderr.text(), run.exited])
  clearTimeout(timer)
  expect({ stdout, stderr, code }).toEqual({ stdout: '', stderr: '', code: 0 })
})
