import { randomBytes } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { sampleNdjson } from '../../../src/sample/generate.ts'
import { axport } from '../../support/executable.ts'
import type { Credentials } from '../../support/walk.ts'
import { type Scope, type Truth, truthOf } from './truth.ts'
import { Victim } from './victim.ts'

/** A database full of sample data, an integration that may read a part of it, and what it has to see. */
export interface World {
  victim: Victim
  /** The URL of the role that serves, on the victim itself. */
  url: string
  credentials: Credentials
  scope: Scope
  truth: Truth
  /** An educator and a proctor for records that are added. */
  late: { user_id: number; proctor_id: number }
}

/** Assessments that are loaded; about two thirds of them are in the scope. */
const ASSESSMENTS = 3000

/** What the database has room for: enough for two processes of the service, and few enough to be used up. */
const CONNECTIONS = 40

/** The role that serves, with the least privileges: slots for superusers are not for it. */
const ROLE = 'axport_serve'

/** Makes a world on a Postgres of its own; `password` is that of the role that serves. */
export async function makeWorld({
  assessments = ASSESSMENTS,
  password = randomBytes(16).toString('hex'),
} = {}): Promise<World> {
  const victim = await Victim.start(CONNECTIONS)
  const env = { DATABASE_URL: victim.url }
  await victim.sql.unsafe(`create role ${ROLE} login password '${password}'`)
  await succeed(['migrate', '--time-zone', 'America/Chicago', '--grant', ROLE], env)
  await succeed(['import', '-'], env, [...sampleNdjson({ assessments })].join(''))
  const scope = {
    organizations: await someIds(victim.sql, 'organizations'),
    products: await someIds(victim.sql, 'products'),
  }
  const options = [
    '--organizations',
    scope.organizations.join(),
    '--products',
    scope.products.join(),
    '--json',
  ]
  const credentials = JSON.parse(await succeed(['integration', 'create', 'Chaos', ...options], env))
  const url = new URL(victim.url)
  url.username = ROLE
  url.password = password
  const truth = await truthOf(victim.sql, scope)
  const [late] = await victim.sql<{ user_id: number; proctor_id: number }[]>`
    select min(id)::int as user_id, max(id)::int as proctor_id from users`
  if (!late) throw new Error('there are no users')
  return { victim, url: url.href, credentials, scope, truth, late }
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
  const target = postgres(to.victim.url, { max: 1, onnotice: () => {} })
  try {
    await target`truncate integrations, integration_secrets, access_tokens`
    for (const table of ['integrations', 'integration_secrets', 'access_tokens']) {
      const [row] = await from.victim
        .sql`select json_agg(t)::text as rows from ${from.victim.sql(table)} as t`
      await target.unsafe(
        `insert into ${table} overriding system value select * from json_populate_recordset(null::${table}, $1)`,
        [row?.rows ?? '[]'],
      )
    }
  } finally {
    await target.end({ timeout: 0 })
  }
}
