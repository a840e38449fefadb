import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import { sampleNdjson } from '../../../src/sample/generate.ts'
import { axport } from '../../support/executable.ts'
import type { Credentials } from '../../support/walk.ts'
import { type Scope, type Truth, truthOf } from './truth.ts'
import { SERVING_ROLE, Victim } from './victim.ts'

/** A database full of sample data, an integration that may read a part of it, and what it has to see. */
export interface World {
  victim: Victim
  /** The URL of the role that serves, on the victim itself. */
  url: string
  credentials: Credentials
  scope: Scope
  truth: Truth
}

/** Assessments that are loaded; about two thirds of them are in the scope. */
const ASSESSMENTS = 3000

/** What the database has room for: enough for two processes of the service, and few enough to be used up. */
const CONNECTIONS = 40

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
  const scope = await victim.ask(async sql => ({
    organizations: await someIds(sql, 'organizations'),
    products: await someIds(sql, 'products'),
  }))
  const options = ['--organizations', scope.organizations.join(), '--products', scope.products.join()]
  const created = await succeed(['integration', 'create', 'Chaos', ...options, '--json'], env)
  const url = new URL(victim.url)
  url.username = SERVING_ROLE
  url.password = password
  const truth = await victim.ask(sql => truthOf(sql, scope))
  return { victim, url: url.href, credentials: JSON.parse(created) as Credentials, scope, truth }
}

/** All but every fourth, so that a record out of scope would be noticed. */
async function someIds(sql: Sql, table: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from (select id, row_number() over (order by id) as number from ${sql(table)}) as numbered
    where number % 4 <> 2 order by id`
  return rows.map(({ id }) => id)
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
