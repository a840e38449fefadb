import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dir, '..', '..')

interface Override {
  includes: string[]
  linter: { rules: { style: { noRestrictedImports?: object } } }
}

interface Module {
  path: string
  part: string
  source: string
}

const modules = ['src/**/*.ts', 'db/**/*.ts']
  .flatMap(pattern => [...new Bun.Glob(pattern).scanSync(root)])
  .filter(path => !path.endsWith('.d.ts'))
  .sort()
  .map(readModule)

function readModule(path: string): Module {
  return { path, part: partOf(path), source: readFileSync(join(root, path), 'utf8') }
}

/** The part of a file: "cli" for src/cli/serve.ts, "errors" for src/errors.ts, "db" for db/schema.ts. */
function partOf(path: string): string {
  const [top, second = ''] = path.split('/')
  return top === 'src' ? second.replace(/\.ts$/, '') : (top ?? '')
}

test('every folder of src is in a rule of biome.json, which says what its files may import', () => {
  const { overrides } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'))
  const rules = overrides
    .filter(({ linter }: Override) => linter.rules.style.noRestrictedImports)
    .flatMap(({ includes }: Override) => includes)
  const folders = [...new Set(modules.map(({ path }) => dirname(path).split('/').slice(0, 2).join('/')))]
  const patterns = folders.map(folder =>
    folder === 'src' ? 'src/*.ts' : `${folder.replace(/^db.*/, 'db')}/**`,
  )
  expect(patterns.filter(pattern => !rules.includes(pattern))).toEqual([])
  expect(folders.length).toBeGreaterThan(14)
})

describe('the modules of src and db', () => {
  test('have at most 300 lines', () => {
    const long = modules
      .filter(({ source }) => source.trimEnd().split('\n').length > 300)
      .map(({ path }) => path)
    expect(long).toEqual([])
  })

  test('read the environment in config only, call process.exit in main only, and signal no other process', () => {
    const using = (pattern: RegExp) =>
      modules.filter(({ source }) => pattern.test(source)).map(({ path }) => path)
    // Biome knows process.env alone.
    expect(using(/\b(Bun|import\.meta)\.env\b|\benv\b.*from 'node:process'/)).toEqual(['src/config.ts'])
    expect(using(/\bprocess\.(exit|abort|exitCode|reallyExit)\b/)).toEqual(['src/main.ts'])
    // Signal 0 asks whether a process runs.
    expect(using(/\bprocess\.kill\b(?!\(pid, 0\))/)).toEqual([])
  })
})

test('modules that answer requests send no requests and start no programs', () => {
  const parts = ['app', 'admin', 'oauth', 'assessments', 'answers']
  const answering = modules.filter(({ part }) => parts.includes(part))
  const requesting =
    /\bfetch\b(?!:)|\bWebSocket\b|\bBun\.(connect|spawn|spawnSync|udpSocket|\$)|\bhttp\.(request|get)\b|['"]node:(https|child_process|dgram)['"]|\b(connect|createConnection)\(/
  expect(answering.length).toBeGreaterThan(40)
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
