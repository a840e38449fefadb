import { afterAll, expect, test } from 'bun:test'
import { axport, cleanUp, complaint, start } from '../support/executable.ts'
import { ndjsonOf, organization, range } from '../support/fixtures.ts'
import { migratedFolder } from '../support/service.ts'

afterAll(cleanUp)

test('the embedded database survives the end of the import that runs it', async () => {
  const env = { DATABASE_URL: `embedded:${await migratedFolder()}` }
  const one = { text: ndjsonOf([organization(1)]) }
  expect((await axport(['import', '-'], { env, stdin: one })).code).toBe(0)
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    const importing = await start(['import', '-'], { env, stdin: 'open' })
    // Far more than a pipe holds, so it has read nearly all of it; then it waits for more.
    await importing.stdin.write(ndjsonOf(range(8000, index => organization(index + 2))))
    expect(importing.exitCode()).toBeUndefined()
    importing.signal(signal)
    expect((await importing.finished).code).toBe(signal === 'SIGINT' ? 130 : 137)
  }
  const after = await axport(['integration', 'create', 'x', '--organizations', '1,2'], { env })
  expect(complaint(after, 1)).toBe('there are no organizations with these ids: 2')
})
