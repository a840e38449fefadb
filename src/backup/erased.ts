import type { TransactionSql } from 'postgres'

/**
 * Copies the tombstones of the database and deletes them: an older backup contains people who were erased since. With
 * their tombstones, the triggers would refuse these people instead of leaving them out.
 */
export async function putErasuresAside(sql: TransactionSql): Promise<void> {
  await sql`create temporary table erasures_before on commit drop as table erasures`
  await sql`delete from erasures`
}

/**
 * Restores the tombstones, after all rows of the backup, and removes the people whom they name. Returns the number of
 * people who had rows in the backup.
 */
export async function leaveOutErased(sql: TransactionSql): Promise<number> {
  await sql`insert into erasures select * from erasures_before on conflict (user_id) do nothing`
  const erased = await sql<{ user_id: string }[]>`select user_id from erasures`
  // remove_people() reads whole tables, which have no indexes at this point.
  if (erased.length === 0) return 0
  const [left] = await sql<{ found: string }[]>`
    select people_found as found from remove_people(${erased.map(({ user_id }) => user_id)}::bigint[])`
  // Triggers have rendered people before their tombstones were there, and may have copied names into the log of changes.
  // So the log begins anew.
  await sql`delete from export_people p using erasures e where p.user_id = e.user_id`
  await sql`select log_any_change()`
  return Number(left?.found)
}
