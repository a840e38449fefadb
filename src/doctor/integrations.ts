import { and, eq, gt, isNull, or, sql } from 'drizzle-orm'
import { integrations as i, integrationSecrets as s } from '../../db/schema.ts'
import { build, NOW, orm } from '../database/orm.ts'
import { type Db, type Outcome, ok, warning } from './finding.ts'

/** Which enabled integrations get 400 or 401, because they have no organizations, no products or no live secret. */
export async function whichIntegrationsFail(db: Db): Promise<Outcome[]> {
  const live = build
    .select()
    .from(s)
    .where(and(eq(s.integrationId, i.id), or(isNull(s.expiresAt), gt(s.expiresAt, NOW))))
  const rows = await orm(db)
    .select({
      name: i.name,
      clientId: i.clientId,
      lacks: sql<string[]>`array_remove(array[
        case when ${i.organizationIds} = '{}' then 'organizations' end,
        case when ${i.productIds} = '{}' then 'products' end,
        case when not exists ${live} then 'a live secret' end
      ], null)`,
    })
    .from(i)
    .where(isNull(i.disabledAt))
    .orderBy(i.id)
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
