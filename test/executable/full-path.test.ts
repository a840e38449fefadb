import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
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
import { BACKENDS, type Backend, openTestDatabase } from '../support/service.ts'
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
  test('the whole path from migrate to a walk of all pages finds every assessment once, and goes on while serve runs', async () => {
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
    const lines = sample.trimEnd().split('\n')
    expect(imported).toMatchObject({ code: 0, stderr: '' })
    expect(imported.stdout).toMatch(new RegExp(`^loaded ${lines.length} lines\\n`))
    expect(imported.stdout).toMatch(/^assessments +1234 +0 +0 +0$/m)

    const credentials = await provision(env, sample)
    const server = await serve(env)
    const records = await walk(server.url, credentials)
    const expected = [...sample.matchAll(/"type":"assessment","id":(\d+)/g)].map(match => Number(match[1]))
    expect(records.map(({ id }) => id).sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b))
    const days = records.map(record => record.certified_on)
    expect(days).toEqual([...days].sort())

    // On the embedded database these go through the process that serves.
    const removal = { text: `{"type":"assessment","id":${expected[0]},"deleted":true}` }
    const removed = await axport(['import', '-'], { env, stdin: removal })
    expect(removed).toMatchObject({ code: 0, stderr: '' })
    expect(removed.stdout).toMatch(/^assessments +0 +0 +0 +1$/m)
    expect((await walk(server.url, await provision(env, sample))).map(({ id }) => id)).not.toContain(
      expected[0] as number,
    )
    expect((await axport(['import', '-'], { env, stdin: { text: 'nonsense' } })).code).toBe(1)
    expect(await walk(server.url, credentials)).toHaveLength(1233)
    server.signal('SIGINT')
    expect(await server.finished).toMatchObject({ code: 0, stderr: '' })

    // What was written while it ran is there for the next.
    const next = await serve(env)
    expect(await walk(next.url, credentials)).toHaveLength(1233)
    next.signal('SIGTERM')
    expect(await next.finished).toMatchObject({ code: 0, stderr: '' })
    await remove()
  })
})

test('the embedded database is private, where DATABASE_URL says, and survives the end of an import', async () => {
  const cwd = emptyFolder()
  const env = { DATABASE_URL: 'embedded:deep/er/data', TMPDIR: emptyFolder() }
  expect((await axport(['migrate'], { env, cwd })).code).toBe(0)
  const { stdout } = await shell('ls -A; ls -ld deep/er/data | cut -c1-10; ls -A "$TMPDIR"', { cwd, env })
  expect(stdout).toBe('deep\ndrwx------\n')

  expect((await axport(['import', '-'], { env, cwd, stdin: { text: organization(1) } })).code).toBe(0)
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

test('serve refuses an embedded database that another process holds, since it would end with that process', async () => {
  const held = await openTestDatabase('embedded')
  try {
    const finished = await axport(['serve'], { env: { DATABASE_URL: held.url, PORT: '0' }, patience: 15_000 })
    expect(complaint(finished, 1)).toMatch(/another process/)
  } finally {
    await held.close()
  }
})
