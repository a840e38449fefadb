import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { axport, cleanUp, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { ndjsonOf, proctor } from '../support/fixtures.ts'
import { openWorld, provision } from '../support/operator.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)
afterAll(cleanUp)

const LINES = ndjsonOf([proctor(78)])

test('a command that has something to write names a read-only database, and what to do', async () => {
  const { sql, url, close } = await openWorld()
  const { clientId } = await provision(sql)
  await sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`)
  for (const args of [
    ['import', '-'],
    ['erase', '501', '--yes'],
    ['refresh'],
    ['migrate', '--disclosures', 'on'],
    ['migrate', '--time-zone', 'America/Chicago'],
    ['integration', 'create', 'Name', '--organizations', '10', '--products', '1'],
    ['integration', 'scope', clientId, '--add-organizations', '11'],
    ['integration', 'describe', clientId, '--name', 'Other'],
    ['integration', 'rotate', clientId],
    ['integration', 'disable', clientId],
    ['integration', 'enable', clientId],
    ['integration', 'delete', clientId, '--yes'],
  ]) {
    const run = await axport(args, { env: { DATABASE_URL: url }, stdin: { text: LINES } })
    expect([args, errorLine(run, 1)]).toEqual([
      args,
      'the database is read-only: it is a standby, or default_transaction_read_only is on; name the primary in DATABASE_URL',
    ])
  }
  await close()
})
