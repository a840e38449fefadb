import { expect, test } from 'bun:test'
import { useHealthyDatabases } from '../support/doctor.ts'
import { emptyFolder } from '../support/executable.ts'
import { assessment, ndjsonOf } from '../support/fixtures.ts'
import { refusal, succeed } from '../support/operator.ts'

const newHealthyDatabase = useHealthyDatabases()

test.each(['database', 'role'])(
  'commands that write data, and serve, are refused while session_replication_role = replica is set for the %s',
  async where => {
    const { sql, url } = await newHealthyDatabase()
    const database = new URL(url).pathname.slice(1)
    const whose = where === 'database' ? `database ${database}` : `role postgres in database ${database}`
    await sql.unsafe(`alter ${whose} set session_replication_role = replica`)
    const file = `${emptyFolder()}/more.ndjson`
    await Bun.write(file, ndjsonOf([assessment(9100)]))
    for (const [undone, ...args] of [
      ['nothing was loaded', 'import', file],
      ['nobody was erased', 'erase', '501', '--yes'],
      ['nothing was refreshed', 'refresh'],
      ['nothing was migrated', 'migrate'],
      ['the service does not start', 'serve'],
    ] as [string, ...string[]][]) {
      expect(await refusal(url, ...args)).toBe(
        `${undone}: with session_replication_role = replica this session fires no triggers, and the export would not follow: axport doctor says where that is set`,
      )
    }
    expect(await sql`select from erasures`).toHaveLength(0)
    // No trigger takes part in these.
    await succeed(url, 'integration', 'create', 'Test')
    await succeed(url, 'integration', 'list')
  },
)
