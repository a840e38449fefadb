import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyDatabase } from '../support/cluster.ts'
import {
  axport,
  cleanUp,
  complaint,
  emptyFolder,
  PATIENCE,
  serve,
  shell,
  start,
} from '../support/executable.ts'
import { BACKENDS, type Backend } from '../support/service.ts'
import { provision, walk } from '../support/walk.ts'

setDefaultTimeout(PATIENCE)
afterAll(cleanUp)

/** A place for a database that holds nothing, as DATABASE_URL. */
async function place(backend: Backend): Promise<{ url: string; remove(): Promise<void> }> {
  if (backend === 'embedded')
    return { url: `embedded:${join(emptyFolder(), 'data')}`, remove: async () => {} }
  const { url, drop } = await emptyDatabase()
  return { url, remove: drop }
}

const organization = (id: number) => `{"type":"organization","id":${id},"name":"o"}\n`

describe.each(BACKENDS)('on %s', backend => {
  test('migrate, sample, import, integration create, serve and a walk of all pages find every assessment once', async () => {
    const { url, remove } = await place(backend)
    const env = { DATABASE_URL: url }
    const migrated = await axport(['migrate', '--time-zone', 'America/Chicago'], { env })
    expect(migrated).toMatchObject({ code: 0, stderr: '' })
    expect(migrated.stdout).toMatch(/^applied 0001.*\nthe time zone is now America\/Chicago\n$/)
    expect(await axport(['migrate'], { env })).toMatchObject({
      code: 0,
      stdout: 'the schema is up to date\n',
    })

    const sample = (await axport(['sample', '1234'])).stdout
    const imported = await shell('"$AXPORT" sample 1234 | "$AXPORT" import -', { env })
    expect(imported).toEqual({
      code: 0,
      stdout: `loaded ${sample.trimEnd().split('\n').length} lines\n`,
      stderr: '',
    })

    const credentials = await provision(env, sample)
    const server = await serve(env)
    const records = await walk(server.url, credentials)
    const expected = [...sample.matchAll(/"type":"assessment","id":(\d+)/g)].map(match => Number(match[1]))
    expect(records.map(({ id }) => id).sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b))
    const days = records.map(record => record.certified_on)
    expect(days).toEqual([...days].sort())
    server.signal('SIGTERM')
    expect(await server.finished).toMatchObject({ code: 0, stderr: '' })
    await remove()
  })

  test('import and integration create work while serve runs, and serve sees what they bring', async () => {
    const { url, remove } = await place(backend)
    const env = { DATABASE_URL: url }
    expect((await axport(['migrate'], { env })).code).toBe(0)
    const server = await serve(env)
    const sample = (await axport(['sample', '150'])).stdout
    expect(await axport(['import', '-'], { env, stdin: { text: sample } })).toMatchObject({
      code: 0,
      stderr: '',
    })
    expect(await walk(server.url, await provision(env, sample))).toHaveLength(150)
    const line = sample.split('\n').find(line => line.includes('"assessment"')) as string
    const { id } = JSON.parse(line) as { id: number }
    const removal = { text: `{"type":"assessment","id":${id},"deleted":true}` }
    expect(await axport(['import', '-'], { env, stdin: removal })).toMatchObject({ code: 0 })
    expect(await walk(server.url, await provision(env, sample))).toHaveLength(149)
    expect(complaint(await axport(['import', 'missing'], { env }), 1)).toMatch(/missing/)
    server.signal('SIGINT')
    expect(await server.finished).toMatchObject({ code: 0, stderr: '' })
    // What was written while it ran is there for the next.
    expect(await axport(['import', '-'], { env, stdin: { text: sample } })).toMatchObject({
      code: 0,
      stderr: '',
    })
    await remove()
  })
})

describe('the embedded database', () => {
  test('survives the end of the process in the middle of an import, and keeps what was there', async () => {
    const cwd = emptyFolder()
    const env = { DATABASE_URL: 'embedded:./data' }
    expect((await axport(['migrate'], { env, cwd })).code).toBe(0)
    writeFileSync(join(cwd, 'one.ndjson'), organization(1))
    expect((await axport(['import', 'one.ndjson'], { env, cwd })).code).toBe(0)
    const half = Array.from({ length: 30_000 }, (_, id) => organization(id + 2)).join('')
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const importing = await start(['import', '-'], { env, cwd, stdin: 'open' })
      // Far more than a pipe holds, so it has read nearly all of it; then it waits for more.
      await importing.stdin.write(half)
      expect(importing.exitCode()).toBeUndefined()
      importing.signal(signal)
      expect((await importing.finished).code).not.toBe(0)
    }
    const after = await axport(['integration', 'create', 'x', '--organizations', '1,2'], { env, cwd })
    expect(complaint(after, 1)).toBe('there are no organizations with these ids: 2')
  })

  test('is made in a folder that others can not read, and stays where DATABASE_URL says', async () => {
    const cwd = emptyFolder()
    const env = { DATABASE_URL: 'embedded:deep/er/data', TMPDIR: emptyFolder() }
    expect((await axport(['migrate'], { env, cwd })).code).toBe(0)
    const { stdout } = await shell('ls -A; ls -ld deep/er/data | cut -c1-10; ls -A "$TMPDIR"', { cwd, env })
    expect(stdout).toBe('deep\ndrwx------\n')
  })
})
