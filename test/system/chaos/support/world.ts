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
import { ChaosPostgres, SERVING_ROLE } from './chaos-postgres.ts'
import { type Truth, truthOf } from './truth.ts'

/** A database with sample data, an integration that may read a part of the data, and the right answers to it. */
export interface World {
  postgres: ChaosPostgres
  /** The URL of the database for the role of the service, without the proxy. */
  url: string
  credentials: Credentials
  platform: Platform
  scope: Scope
  truth: Truth
}

/** The number of loaded assessments; about two thirds of them are in the scope. */
const ASSESSMENTS = 400

/** Makes a world before the tests of a file, and stops everything after them. */
export function useWorld(options: Parameters<typeof makeWorld>[0] = {}): World {
  setDefaultTimeout(10 * 60_000)
  const world = {} as World
  beforeAll(async () => {
    Object.assign(world, await makeWorld(options))
  })
  afterAll(async () => {
    await cleanUp()
    await world.postgres?.stop()
  })
  return world
}

/** Makes a world on a new Postgres. `password` is of the service's role; `settings` are those of postgresql.conf. */
export async function makeWorld({
  assessments = ASSESSMENTS,
  password = randomBytes(16).toString('hex'),
  settings = {},
} = {}): Promise<World> {
  const postgres = await ChaosPostgres.start(settings)
  await postgres.asSuperuser(sql => sql.unsafe(`create role ${SERVING_ROLE} login password '${password}'`))
  await succeed(postgres.url, 'migrate', '--time-zone', 'America/Chicago', '--grant', SERVING_ROLE)
  await postgres.asSuperuser(sql => importText(sql, [...sampleNdjson({ assessments })].join('')))
  const platform = await postgres.asSuperuser(readPlatform)
  const scope = { organizations: someIds(platform.organizations), products: someIds(platform.products) }
  const credentials = await integrate(postgres.url, scope)
  const url = new URL(postgres.url)
  url.username = SERVING_ROLE
  url.password = password
  return { postgres, url: url.href, credentials, platform, scope, truth: truthOf(platform, scope) }
}

/** All ids but every fourth, so that a wrong answer with a record outside of the scope is noticed. */
function someIds(rows: { id: number }[]): number[] {
  const ids = rows.map(({ id }) => id).sort((a, b) => a - b)
  return ids.filter((_, index) => index % 4 !== 1)
}

/** Copies the integrations, secrets and tokens of one world into another, as a copy of the database would have them. */
export async function copyIntegrations(from: World, to: World): Promise<void> {
  for (const table of ['integrations', 'integration_secrets', 'access_tokens']) {
    const [row] = await from.postgres.asSuperuser(
      sql => sql<{ columns: string; rows: string }[]>`
        select
          (
            select string_agg(quote_ident(attname), ',') from pg_attribute
            where attrelid = ${table}::regclass and attnum > 0 and attgenerated = '' and not attisdropped
          ) as columns,
          (select coalesce(json_agg(t), '[]')::text from ${sql(table)} as t) as rows`,
    )
    if (!row) throw new Error('json_agg() returned no row')
    await to.postgres.asSuperuser(async sql => {
      await sql.unsafe(`truncate ${table} cascade`)
      await sql.unsafe(
        `insert into ${table} (${row.columns}) overriding system value
         select ${row.columns} from json_populate_recordset(null::${table}, $1::text::json)`,
        [row.rows],
      )
    })
  }
}
