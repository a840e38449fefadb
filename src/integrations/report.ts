import type { Fragment, Sql } from 'postgres'
import { type ExactNumber, parseExact } from './exact-ids.ts'
import { type Description, unknownIntegration } from './lifecycle.ts'

/** An integration, with the two sets of its scope. Times are ISO 8601 in UTC. */
interface Summary<ScopeSet> extends Description {
  client_id: string
  name: string
  state: 'enabled' | 'disabled'
  organizations: ScopeSet
  products: ScopeSet
  live_tokens: number
  created_at: string
  last_used_at: string | null
}

/** A line of `integration list`, with the sizes of the sets. */
export type IntegrationSummary = Summary<number>

/** All that an operator may know of an integration, and the API may not tell it. */
export interface IntegrationReport extends Summary<ScopeMember[]> {
  disabled_at: string | null
  /** The sets that were given as "all", and the members that were added to the data since and are not in them. */
  meant_as_all: (keyof IntegrationReport['come_since'])[]
  come_since: { organizations: ScopeMember[]; products: ScopeMember[] }
  secrets: { created_at: string; ends_at: string | null; last_used_at: string | null; live_tokens: number }[]
  assessments_in_scope: number
  /** Why requests were refused in the last week, the latest reason first. */
  refusals: { what: string; count: number; first_at: string; last_at: string }[]
  /** Why requests get 400, 401 or nothing, and the remedy; empty if they succeed. */
  obstacles: string[]
}

/** An organization or a product of a scope. */
export interface ScopeMember {
  id: ExactNumber
  /** null if the data does not have it (any more). */
  name: string | null
}

/** Every integration, oldest first. */
export async function listIntegrations(db: Sql): Promise<IntegrationSummary[]> {
  const sizes = [db`cardinality(i.organization_ids)`, db`cardinality(i.product_ids)`] as const
  const rows = await db<{ summary: IntegrationSummary }[]>`
    select json_build_object(${summary(db, ...sizes)}) as summary from integrations i order by i.id`
  return rows.map(row => row.summary)
}

/**
 * Everything about one integration.
 * @throws Failure for an unknown integration
 */
export async function reportIntegration(db: Sql, clientId: string): Promise<IntegrationReport> {
  const sets = [
    members(db, 'organizations', 'organization_ids'),
    members(db, 'products', 'product_ids'),
  ] as const
  const [row] = await db<{ report: string }[]>`
    select json_build_object(
      ${summary(db, ...sets)},
      'disabled_at', ${iso(db, db`i.disabled_at`)},
      'meant_as_all', array_remove(
        array[case when i.all_organizations then 'organizations' end, case when i.all_products then 'products' end], null
      ),
      'come_since', json_build_object(
        'organizations', ${members(db, 'organizations', 'organization_ids', 'all_organizations')},
        'products', ${members(db, 'products', 'product_ids', 'all_products')}
      ),
      'secrets', (
        select coalesce(json_agg(json_build_object(
          'created_at', ${iso(db, db`s.created_at`)},
          'ends_at', ${iso(db, db`s.expires_at`)},
          'last_used_at', ${iso(db, db`s.last_used_at`)},
          'live_tokens', (select count(*) from access_tokens t where t.secret_id = s.id and t.expires_at > now())
        ) order by s.id), '[]')
        from integration_secrets s
        where s.integration_id = i.id and (s.expires_at is null or s.expires_at > now())
      ),
      'assessments_in_scope', (
        select count(*) from export_records r
        where r.organization_id = any (i.organization_ids) and r.product_id = any (i.product_ids)
      ),
      'refusals', (
        select coalesce(json_agg(json_build_object(
          'what', r.what, 'count', r.count, 'first_at', ${iso(db, db`r.first_at`)}, 'last_at', ${iso(db, db`r.last_at`)}
        ) order by r.last_at desc, r.what), '[]')
        from integration_refusals r where r.integration_id = i.id and r.last_at > now() - interval '7 days'
      )
    )::text as report
    from integrations i where i.client_id = ${clientId}`
  if (!row) throw unknownIntegration(clientId)
  const report = parseExact(row.report) as Omit<IntegrationReport, 'obstacles'>
  return { ...report, obstacles: obstacles(report) }
}

/** SQL: the names and values of a summary for json_build_object, given those of the two sets. */
function summary(db: Sql, organizations: Fragment, products: Fragment): Fragment {
  return db`
    'client_id', i.client_id,
    'name', i.name,
    'purpose', i.purpose,
    'contact', i.contact,
    'state', case when i.disabled_at is null then 'enabled' else 'disabled' end,
    'organizations', ${organizations},
    'products', ${products},
    'live_tokens', (
      select count(*) from access_tokens t join integration_secrets s on s.id = t.secret_id
      where s.integration_id = i.id and t.expires_at > now() and (s.expires_at is null or s.expires_at > now())
    ),
    'created_at', ${iso(db, db`i.created_at`)},
    'last_used_at', ${iso(db, db`(select max(last_used_at) from integration_secrets s where s.integration_id = i.id)`)}`
}

/** SQL: the members of a set as JSON; with `missingIf`, the rows that the set lacks, if that column is true. */
function members(db: Sql, table: string, ids: string, missingIf?: string): Fragment {
  const join = missingIf ? db`right join ${db(table)} m using (id)` : db`left join ${db(table)} m using (id)`
  const where = missingIf ? db`where i.${db(missingIf)} and known.id is null` : db``
  return db`(
    select coalesce(json_agg(json_build_object('id', id, 'name', m.name) order by id), '[]')
    from unnest(i.${db(ids)}) as known (id) ${join} ${where}
  )`
}

/** In the order in which a request would meet them. */
function obstacles(report: Omit<IntegrationReport, 'obstacles'>): string[] {
  const { client_id: id, organizations, products, secrets } = report
  const found: string[] = []
  if (report.disabled_at) {
    found.push(`401: it is disabled since ${report.disabled_at}; axport integration enable ${id}`)
  }
  if (secrets.length === 0) found.push(`401: it has no live secret; axport integration rotate ${id}`)
  if (organizations.length === 0) {
    found.push(`400: it has no organizations; axport integration scope ${id} --organizations …`)
  }
  if (products.length === 0)
    found.push(`400: it has no products; axport integration scope ${id} --products …`)
  const isProvisioned = organizations.length > 0 && products.length > 0
  if (isProvisioned && report.assessments_in_scope === 0) {
    found.push('nothing: no assessment of these organizations and products is in the database')
  }
  return found
}

/** SQL that prints a timestamptz expression. */
function iso(db: Sql, expression: Fragment): Fragment {
  return db`to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}
