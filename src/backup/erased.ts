import type { TransactionSql } from 'postgres'

/**
 * Puts the tombstones of the database aside: an older backup has people who were erased since. Behind tombstones the
 * triggers would refuse them, and not leave them out.
 */
export async function putErasuresAside(sql: TransactionSql): Promise<void> {
  await sql`create temporary table erasures_before on commit drop as table erasures`
  await sql`delete from erasures`
}

/**
 * When all rows of a backup are there: brings the tombstones back, beside those of the backup, and removes whom they stand
 * for. Returns of how many people the backup had something.
 */
export async function leaveOutErased(sql: TransactionSql): Promise<number> {
  await sql`insert into erasures select * from erasures_before on conflict (user_id) do nothing`
  const erased = await sql<{ user_id: string }[]>`select user_id from erasures`
  // It reads whole tables, which have no indexes at this point.
  if (erased.length === 0) return 0
  const [left] = await sql<{ found: string }[]>`
    select people_found as found from remove_people(${erased.map(({ user_id }) => user_id)}::bigint[])`
  // Where the triggers were on, the log has names by value.
  await sql`
    delete from export_changes c using erasures e where c.user_id = e.user_id or e.user_id = any (c.proctor_ids)`
  await sql`select forget_export_facts()`
  return Number(left?.found)
}
