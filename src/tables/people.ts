import { type SQL, sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { rowsOf } from '../database/orm.ts'

/** A person as the source tables have the person. */
export interface Person {
  /** Decimal digits. */
  id: string
  name: string
  /** "" for none, as most proctors. */
  email: string
  recordStatus: 'active' | 'archived'
  /** Assessments with the person as educator, and assessments of others with the person as proctor. */
  assessments: number
  proctored: number
}

/** The person with this id, decimal; undefined if there is none. */
export async function findPerson(db: Sql, id: string): Promise<Person | undefined> {
  const [person] = await select(db, sql`u.id = ${id}`)
  return person
}

/** The people with this email, in any case: the platform may have given one to several. */
export const findByEmail = (db: Sql, email: string): Promise<Person[]> =>
  select(
    db,
    sql`lower(u.email collate "und-x-icu") = lower(${email.trim()}::text collate "und-x-icu") and u.email <> ''`,
  )

const select = (db: Sql, condition: SQL) =>
  rowsOf<Person>(
    db,
    sql`
  select u.id, u.name, u.email, u.record_status as "recordStatus",
    (select count(*)::integer from assessments a where a.user_id = u.id) as assessments,
    (
      select count(distinct a.id)::integer
      from assessment_parts p join assessments a on a.id = p.assessment_id
      where p.proctor_id = u.id and a.user_id <> u.id
    ) as proctored
  from users u where ${condition}
  order by u.id`,
  )
