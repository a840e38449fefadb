import { afterAll, beforeAll, setDefaultTimeout } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { sampleNdjson } from '../../../../src/sample/generate.ts'
import { cleanUp } from '../../../support/executable.ts'
import type { Credentials } from '../../../support/http.ts'
import { importText } from '../../../support/import.ts'
import { succeed } from '../../../support/operator.ts'
import type { Scope } from '../../../support/oracle.ts'
import type { Platform } from '../../../support/oracle-records.ts'
import { readPlatform } from '../../../support/stored-platform.ts'
import { integrate } from '../../support/operations.ts'
import { type Truth, truthOf } from './truth.ts'
import { SERVING_ROLE, Victim } from './victim.ts'

/** A database full of sample data, an integration that may read a part of it, and what it has to see. */
export interface World {
  victim: Victim
  /** The URL of the role that serves, on the victim itself. */
  url: string
  credentials: Credentials
  platform: Platform
  scope: Scope
  truth: Truth
}

/** Assessments that are loaded; about two thirds of them are in the scope. */
const ASSESSMENTS = 3000

/** A world for the tests of a file, which is made before them; everything is taken down after them. */
export function useWorld(options: Parameters<typeof makeWorld>[0] = {}): World {
  setDefaultTimeout(10 * 60_000)
  const world = {} as World
  beforeAll(async () => {
    Object.assign(world, await makeWorld(options))
  })
  afterAll(async () => {
    await cleanUp()
    await world.victim?.stop()
  })
  return world
}

/** Makes a world on a Postgres of its own; `password` is that of the role that serves, `settings` the server's. */
export async function makeWorld({
  assessments = ASSESSMENTS,
  password = randomBytes(16).toString('hex'),
  settings = {},
} = {}): Promise<World> {
  const victim = await Victim.start(settings)
  await victim.ask(sql => sql.unsafe(`create role ${SERVING_ROLE} login password '${password}'`))
  await succeed(victim.url, 'migrate', '--time-zone', 'America/Chicago', '--grant', SERVING_ROLE)
  await victim.ask(sql => importText(sql, [...sampleNdjson({ assessments })].join('')))
  const platform = await victim.ask(readPlatform)
  const scope = { organizations: someIds(platform.organizations), products: someIds(platform.products) }
  const credentials = await integrate(victim.url, scope)
  const url = new URL(victim.url)
  url.username = SERVING_ROLE
  url.password = password
  return { victim, url: url.href, credentials, platform, scope, truth: truthOf(platform, scope) }
}

/** All but every fourth, so that a record out of scope would be noticed. */
function someIds(rows: { id: number }[]): number[] {
  const ids = rows.map(({ id }) => id).sort((a, b) => a - b)
  return ids.filter((_, index) => index % 4 !== 1)
}

/** Gives another world the integrations, secrets and tokens of this one, as a copy of the database has them. */
export async function copyIntegrations(from: World, to: World): Promise<void> {
  for (const table of ['integrations', 'integration_secrets', 'access_tokens']) {
    const [row] = await from.victim.ask(
      sql => sql<{ columns: string; rows: string }[]>`
        select
          (
            select string_agg(quote_ident(attname), ',') from pg_attribute
            where attrelid = ${table}::regclass and attnum > 0 and attgenerated = '' and not attisdropped
          ) as columns,
          (select coalesce(json_agg(t), '[]')::text from ${sql(table)} as t) as rows`,
    )
    if (!row) throw new Error('an aggregate has one row')
    await to.victim.ask(async sql => {
      await sql.unsafe(`truncate ${table} cascade`)
      await sql.unsafe(
        `insert into ${table} (${row.columns}) overriding system value
         select ${row.columns} from json_populate_recordset(null::${table}, $1::text::json)`,
        [row.rows],
      )
    })
  }
}
