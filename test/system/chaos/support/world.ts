import { afterAll, beforeAll, setDefaultTimeout } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { sampleNdjson } from '../../../../src/sample/generate.ts'
import { axport, cleanUp } from '../../../support/executable.ts'
import type { Credentials } from '../../../support/http.ts'
import type { Scope } from '../../../support/oracle.ts'
import type { Platform } from '../../../support/oracle-records.ts'
import { readPlatform } from '../../../support/stored-platform.ts'
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

/** What the database has room for: enough for two processes of the service, and few enough to be used up. */
const CONNECTIONS = 40

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
  const victim = await Victim.start(CONNECTIONS, settings)
  const env = { DATABASE_URL: victim.url }
  await victim.ask(sql => sql.unsafe(`create role ${SERVING_ROLE} login password '${password}'`))
  await succeed(['migrate', '--time-zone', 'America/Chicago', '--grant', SERVING_ROLE], env)
  await succeed(['import', '-'], env, [...sampleNdjson({ assessments })].join(''))
  const platform = await victim.ask(readPlatform)
  const scope = { organizations: someIds(platform.organizations), products: someIds(platform.products) }
  const options = ['--organizations', scope.organizations.join(), '--products', scope.products.join()]
  const created = await succeed(['integration', 'create', 'Chaos', ...options, '--json'], env)
  const url = new URL(victim.url)
  url.username = SERVING_ROLE
  url.password = password
  const credentials = JSON.parse(created) as Credentials
  return { victim, url: url.href, credentials, platform, scope, truth: truthOf(platform, scope) }
}

/** All but every fourth, so that a record out of scope would be noticed. */
function someIds(rows: { id: number }[]): number[] {
  const ids = rows.map(({ id }) => id).sort((a, b) => a - b)
  return ids.filter((_, index) => index % 4 !== 1)
}

/** Runs a command that has to succeed; what it wrote to standard output. */
export async function succeed(args: string[], env: Record<string, string>, stdin?: string): Promise<string> {
  const { code, stdout, stderr } = await axport(args, {
    env,
    ...(stdin !== undefined && { stdin: { text: stdin } }),
  })
  if (code !== 0) throw new Error(`axport ${args.join(' ')}: exit code ${code}, ${stderr}`)
  return stdout
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
