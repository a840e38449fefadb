import { sql } from 'drizzle-orm'
import { rowsOf } from '../database/orm.ts'
import { type Answer, type Db, ok, warning } from './answer.ts'

/** Which enabled integrations get 400 or 401, because they have no organizations, no products or no live secret. */
export async function whichIntegrationsFail(db: Db): Promise<Answer[]> {
  const rows = await rowsOf<{ name: string; clientId: string; lacks: string[] }>(
    db,
    sql`
    select name, client_id as "clientId", array_remove(array[
      case when organization_ids = '{}' then 'organizations' end,
      case when product_ids = '{}' then 'products' end,
      case when not exists (
        select from integration_secrets s where s.integration_id = i.id and (s.expires_at is null or s.expires_at > now())
      ) then 'a live secret' end
    ], null) as lacks
    from integrations i where disabled_at is null order by id`,
  )
  const failing = rows.filter(({ lacks }) => lacks.length > 0)
  if (failing.length > 0)
    return failing.map(({ name, clientId, lacks }) =>
      warning(
        `${name} (${clientId}) lacks ${lacks.join(' and ')}: axport integration show ${clientId} says what to do`,
      ),
    )
  return [
    ok(
      rows.length === 0
        ? 'none enabled: axport integration create NAME makes one'
        : `${rows.length} enabled, each with a scope and a secret`,
    ),
  ]
}
