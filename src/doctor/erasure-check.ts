import type { Sql } from 'postgres'
import { onlyRow } from '../postgres/statement.ts'
import { canRead, type Finding, ok, skipped, wrong } from './finding.ts'

/** Finds rows of erased people in the source tables, which were written past the triggers. They are not exported. */
export async function checkErasures(db: Sql): Promise<Finding> {
  if (!(await canRead(db, 'erasures', 'users', 'assessments')))
    return skipped('erasures', 'this role cannot read the tombstones of erased people: see its privileges')
  const { erased, found, first, subscriptions } = onlyRow(
    await db<{ erased: number; found: number; first: string | null; subscriptions: string[] }[]>`
      with found as (
        select user_id from erasures e
        where exists (select from users u where u.id = e.user_id and u is distinct from erased_person(u.id))
          or exists (select from assessments a where a.user_id = e.user_id)
      )
      select
        (select count(*)::integer from erasures) as erased,
        (select count(*)::integer from found) as found,
        (select min(user_id) from found) as first,
        array(
          select distinct s.subname::text from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid
          where r.srrelid in ('users'::regclass, 'assessments'::regclass) order by 1
        ) as subscriptions`,
  )
  if (erased === 0) return ok('erasures', 'nobody was erased')
  if (found === 0)
    return ok(
      'erasures',
      `${erased} erased ${erased === 1 ? 'person' : 'people'}, with no rows in the source tables`,
    )
  const whose =
    found === 1
      ? `rows of user ${first}, who was erased,`
      : `rows of ${found} erased people, as user ${first},`
  const copies =
    subscriptions.length === 0
      ? ''
      : `, and erase the person also where the subscription ${subscriptions.join(', ')} copies from`
  return wrong(
    'erasures',
    `${whose} are in the source tables again, and not exported: axport erase ${first} removes them${copies}`,
  )
}
