import { afterAll, expect, test } from 'bun:test'
import { emptyDatabase } from '../support/cluster.ts'
import { axport, cleanUp, shell } from '../support/executable.ts'
import { serveWith } from '../support/served.ts'
import { provision, walk } from '../support/walk.ts'

afterAll(cleanUp)

test('an installation returns every assessment once in a walk after migrate and import, and accepts commands while serve runs', async () => {
  const { url, drop } = await emptyDatabase()
  const env = { DATABASE_URL: url }
  const migrated = await axport(['migrate', '--time-zone', 'America/Chicago'], { env })
  expect(migrated).toMatchObject({ code: 0, stderr: '' })
  expect(migrated.stdout).toMatch(/^applied 0001.*\nthe time zone is now America\/Chicago\n$/)
  const sample = (await axport(['sample', '345'])).stdout
  const imported = await shell('"$AXPORT" sample 345 | "$AXPORT" import -', { env })
  expect(imported.stdout).toMatch(new RegExp(`^loaded ${sample.trimEnd().split('\n').length - 1} lines\\n`))
  expect(imported.stdout).toMatch(/^assessments +345 +0 +0 +0$/m)

  const server = await serveWith([], env)
  const again = { code: 0, stdout: 'the schema is up to date\n' }
  expect(await axport(['migrate'], { env })).toMatchObject(again)
  const credentials = await provision(env, sample)
  const records = await walk(server.url, credentials)
  const expected = [...sample.matchAll(/"type":"assessment","id":(\d+)/g)].map(match => Number(match[1]))
  expect(records.map(({ id }) => id).sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b))
  const days = records.map(record => record.certified_on)
  expect(days).toEqual([...days].sort())

  const removal = { text: `{"type":"assessment","id":${expected[0]},"deleted":true}` }
  const removed = await axport(['import', '-'], { env, stdin: removal })
  expect(removed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^assessments +0 +0 +0 +1$/m) })
  expect((await walk(server.url, await provision(env, sample))).map(({ id }) => id)).not.toContain(
    expected[0] as number,
  )
  expect((await axport(['import', '-'], { env, stdin: { text: 'nonsense' } })).code).toBe(1)
  expect(await walk(server.url, credentials)).toHaveLength(344)
  await server.end()

  // The next process finds the rows written while the first process ran.
  const next = await serveWith([], env)
  expect(await walk(next.url, credentials)).toHaveLength(344)
  await next.end()
  await drop()
})
