import type { Fragment, Sql } from 'postgres'
import type { Description } from './describe.ts'
import { type ExactNumber, exactNumber } from './exact-ids.ts'
import { unknownIntegration } from './find.ts'

/** A line of `integration list`. Times are ISO 8601 in UTC. */
export interface IntegrationSummary extends Description {
  client_id: string
  name: string
  state: 'enabled' | 'disabled'
  organizations: number
  products: number
  live_tokens: number
  created_at: string
  last_used_at: string | null
}

/** All that an operator may know of an integration and the API may not tell it. */
export interface IntegrationReport extends Omit<IntegrationSummary, 'organizations' | 'products'> {
  disabled_at: string | null
  organizations: ScopeMember[]
  products: ScopeMember[]
  /** The sets that were meant as all, and what has come to the data since and is not in them. */
  meant_as_all: (keyof Scope)[]
  come_since: Scope
  secrets: { created_at: string; ends_at: string | null; last_used_at: string | null; live_tokens: number }[]
  assessments_in_scope: number
  /** What its requests were refused for in the last week, the latest first. */
  refusals: { what: string; count: number; first_at: string; last_at: string }[]
  /** Why requests would get 400, 401 or nothing, and what to do; empty when nothing stands in the way. */
  obstacles: string[]
}

/** The two sets of a scope. */
interface Scope {
  organizations: ScopeMember[]
  products: ScopeMember[]
}

/** An organization or a product of a scope. */
export interface ScopeMember {
  id: ExactNumber
  /** null when it is not in the data (any more). */
  name: string | null
}

/** Every integration, oldest first. */
export async function listIntegrations(db: Sql): Promise<IntegrationSummary[]> {
  const rows = await db<{ summary: IntegrationSummary }[]>`
    select json_build_object(
      'client_id', i.client_id,
      'name', i.name,
      'purpose', i.purpose,
      'contact', i.contact,
      'state', case when i.disabled_at is null then 'enabled' else 'disabled' end,
      'organizations', cardinality(i.organization_ids),
      'products', cardinality(i.product_ids),
      'live_tokens', (
        select count(*) from access_tokens t join integration_secrets s on s.id = t.secret_id
        where s.integration_id = i.id and t.expires_at > now() and (s.expires_at is null or s.expires_at > now())
      ),
      'created_at', ${iso(db, db`i.created_at`)},
      'last_used_at', ${iso(db, db`(select max(last_used_at) from integration_secrets s where s.integration_id = i.id)`)}
    ) as summary
    from integrations i order by i.id`
  return rows.map(row => row.summary)
}

/**
 * Everything about one integration.
 * @throws Failure when there is none of this client id
 */
export async function reportIntegration(db: Sql, clientId: string): Promise<IntegrationReport> {
  const summary = (await listIntegrations(db)).find(summary => summary.client_id === clientId)
  if (!summary) throw unknownIntegration(clientId)
  const [row] = await db<{ report: StoredReport }[]>`
    select json_build_object(
      'disabled_at', ${iso(db, db`i.disabled_at`)},
      'organizations', (
        select coalesce(json_agg(json_build_object('id', id::text, 'name', o.name) order by id), '[]')
        from unnest(i.organization_ids) as id left join organizations o using (id)
      ),
      'products', (
        select coalesce(json_agg(json_build_object('id', id::text, 'name', p.name) order by id), '[]')
        from unnest(i.product_ids) as id left join products p using (id)
      ),
      'meant_as_all',
        array_remove(array[case when i.all_organizations then 'organizations' end, case when i.all_products then 'products' end], null),
      'come_since', json_build_object(
        'organizations', (
          select coalesce(json_agg(json_build_object('id', o.id::text, 'name', o.name) order by o.id), '[]')
          from organizations o left join unnest(i.organization_ids) as known (id) using (id)
          where i.all_organizations and known.id is null
        ),
        'products', (
          select coalesce(json_agg(json_build_object('id', p.id::text, 'name', p.name) order by p.id), '[]')
          from products p left join unnest(i.product_ids) as known (id) using (id)
          where i.all_products and known.id is null
        )
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
    ) as report
    from integrations i where i.client_id = ${clientId}`
  if (!row) throw unknownIntegration(clientId)
  const report = {
    ...summary,
    ...row.report,
    ...withExactIds(row.report),
    come_since: withExactIds(row.report.come_since),
  }
  return { ...report, obstacles: obstacles(report) }
}

/** As the database renders it, with ids as text: its driver would round them. */
interface StoredReport
  extends Omit<IntegrationReport, keyof IntegrationSummary | keyof Scope | 'come_since' | 'obstacles'>,
    StoredScope {
  come_since: StoredScope
}

interface StoredScope {
  organizations: StoredMember[]
  products: StoredMember[]
}
type StoredMember = Omit<ScopeMember, 'id'> & { id: string }

function withExactIds({ organizations, products }: StoredScope): Scope {
  const exact = ({ id, name }: StoredMember): ScopeMember => ({ id: exactNumber(id), name })
  return { organizations: organizations.map(exact), products: products.map(exact) }
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
function iso(db: Sql, expression: Fragment) {
  return db`to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}
