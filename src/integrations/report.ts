import { type SQL, sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { isoOf, orm } from '../database/orm.ts'
import { type ExactNumber, parseExact } from './exact-ids.ts'
import { type Description, unknownIntegration } from './lifecycle.ts'

/** An integration, with the two sets of its scope. Times are ISO 8601 in UTC. */
export interface IntegrationSummary<ScopeSet> extends Description {
  client_id: string
  name: string
  state: 'enabled' | 'disabled'
  organizations: ScopeSet
  products: ScopeSet
  live_tokens: number
  created_at: string
  last_used_at: string | null
}

/** All that an operator may know of an integration, and the API may not tell it. */
export interface IntegrationReport extends IntegrationSummary<ScopeMember[]> {
  disabled_at: string | null
  /** The sets that were given as "all", and the members that were added to the data since and are not in them. */
  meant_as_all: (keyof IntegrationReport['come_since'])[]
  come_since: Record<'organizations' | 'products', ScopeMember[]>
  secrets: {
    created_at: string
    expires_at: string | null
    last_used_at: string | null
    live_tokens: number
  }[]
  assessments_in_scope: number
  /** Why requests get 400, 401 or nothing, and the remedy; empty if they succeed. */
  obstacles: string[]
}

/** An organization or a product of a scope. */
export interface ScopeMember {
  id: ExactNumber
  /** null if the data does not have it (any more). */
  name: string | null
}

/** Every integration, oldest first, with the sizes of its sets. */
export async function listIntegrations(db: Sql): Promise<IntegrationSummary<number>[]> {
  const sizes = [sql`cardinality(i.organization_ids)`, sql`cardinality(i.product_ids)`] as const
  const rows = await orm(db).execute<{ summary: IntegrationSummary<number> }>(sql`
    select json_build_object(${summary(...sizes)}) as summary
    from integrations i ${WITH_TOKENS} order by i.id`)
  return rows.map(row => row.summary)
}

/** Everything about one integration. @throws Failure for an unknown integration */
export async function reportIntegration(db: Sql, clientId: string): Promise<IntegrationReport> {
  const sets = [members('organizations'), members('products')] as const
  const [row] = await orm(db).execute<{ report: string }>(sql`
    select json_build_object(
      ${summary(...sets)},
      'disabled_at', ${isoOf(sql`i.disabled_at`)},
      'meant_as_all', array_remove(
        array[case when i.all_organizations then 'organizations' end, case when i.all_products then 'products' end], null
      ),
      'come_since', json_build_object(
        'organizations', ${members('organizations', true)}, 'products', ${members('products', true)}
      ),
      'secrets', (
        select coalesce(json_agg(json_build_object(
          'created_at', ${isoOf(sql`s.created_at`)},
          'expires_at', ${isoOf(sql`s.expires_at`)},
          'last_used_at', ${isoOf(sql`s.last_used_at`)},
          'live_tokens', (select count(*) from access_tokens t where t.secret_id = s.id and t.expires_at > now())
        ) order by s.id), '[]')
        from integration_secrets s
        where s.integration_id = i.id and (s.expires_at is null or s.expires_at > now())
      ),
      'assessments_in_scope', (
        select count(*) from export_records r
        where r.organization_id = any (i.organization_ids) and r.product_id = any (i.product_ids)
      )
    )::text as report
    from integrations i ${WITH_TOKENS} where i.client_id = ${clientId}`)
  if (!row) throw unknownIntegration(clientId)
  const report = parseExact(row.report) as Omit<IntegrationReport, 'obstacles'>
  return { ...report, obstacles: obstacles(report) }
}

/** SQL: the names and values of a summary for json_build_object, given those of the two sets. */
function summary(organizations: SQL, products: SQL): SQL {
  return sql`
    'client_id', i.client_id,
    'name', i.name,
    'purpose', i.purpose,
    'contact', i.contact,
    'state', case when i.disabled_at is null then 'enabled' else 'disabled' end,
    'organizations', ${organizations},
    'products', ${products},
    'live_tokens', coalesce(live.tokens, 0),
    'created_at', ${isoOf(sql`i.created_at`)},
    'last_used_at', ${isoOf(sql`(select max(last_used_at) from integration_secrets s where s.integration_id = i.id)`)}`
}

/** SQL: joins the number of live tokens. All tokens are read once: they have no index by their secret. */
const WITH_TOKENS = sql`
    left join (
      select s.integration_id, count(*) as tokens
      from access_tokens t join integration_secrets s on s.id = t.secret_id
      where t.expires_at > now() and (s.expires_at is null or s.expires_at > now())
      group by s.integration_id
    ) as live on live.integration_id = i.id`

/** SQL: the members of a set as JSON; or those that it lacks, if it was given as "all". */
function members(set: 'organizations' | 'products', lacking = false): SQL {
  const where = lacking ? sql`where i.${sql.identifier(`all_${set}`)} and known.id is null` : sql``
  return sql`(
    select coalesce(json_agg(json_build_object('id', id, 'name', m.name) order by id), '[]')
    from unnest(i.${sql.identifier(`${set.slice(0, -1)}_ids`)}) as known (id)
    ${lacking ? sql`right` : sql`left`} join ${sql.identifier(set)} m using (id) ${where}
  )`
}

/** In the order in which a request would meet them. */
function obstacles(report: Omit<IntegrationReport, 'obstacles'>): string[] {
  const { client_id: id, disabled_at, organizations, products, secrets, assessments_in_scope } = report
  const hasNothing = organizations.length > 0 && products.length > 0 && assessments_in_scope === 0
  const all = [
    disabled_at && `401: it is disabled since ${disabled_at}; axport integration enable ${id}`,
    secrets.length === 0 && `401: it has no live secret; axport integration rotate ${id}`,
    organizations.length === 0 &&
      `400: it has no organizations; axport integration scope ${id} --organizations …`,
    products.length === 0 && `400: it has no products; axport integration scope ${id} --products …`,
    hasNothing && 'nothing: no assessment of these organizations and products is in the database',
  ]
  return all.filter(obstacle => typeof obstacle === 'string')
}
