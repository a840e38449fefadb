import type { TransactionSql } from 'postgres'
import { onlyRow } from '../database/statement.ts'

/** What an import leaves out because of erased people: the number of people, and of rows of the source. */
export interface LeftOut {
  people: number
  lines: number
}

export const NOTHING_LEFT_OUT: LeftOut = { people: 0, lines: 0 }

/**
 * Removes what SQL has written about erased people, so that nothing of it is compared or counted for a limit. Then drops what
 * is staged about them: their rows, assessments with all parts, and bad rows about them. A stored
 * assessment that now belongs to an erased person is deleted. Erased people whom parts of others name as their proctor, and
 * those who are stored for that reason and named by the source, are staged as "Erased person".
 */
export async function dropErased(sql: TransactionSql): Promise<LeftOut> {
  await sql`select remove_people(array(select user_id from erasures))`
  const left = onlyRow(
    await sql<{ people: string; lines: string }[]>`
      with theirs as (
        select a.id, e.user_id from import_assessments a join erasures e using (user_id)
        union
        select r.id, e.user_id from import_rejects r join erasures e using (user_id) where r.type = 'assessment'
      ),
      named as (
        select id from import_users where not deleted
        union
        select id from import_rejects where type = 'user'
      ),
      dropped_assessments as (
        delete from import_assessments a using erasures e where a.user_id = e.user_id
        returning e.user_id, a.file, a.line, a.id
      ),
      dropped_parts as (
        delete from import_assessment_parts p using theirs where p.assessment_id = theirs.id
        returning theirs.user_id, p.file, p.line
      ),
      dropped_users as (
        delete from import_users u using erasures e where u.id = e.user_id and not u.deleted
        returning e.user_id, u.file, u.line
      ),
      their_rejects as (
        select e.user_id, r.file, r.line from import_rejects r join erasures e using (user_id)
        union
        select e.user_id, r.file, r.line from import_rejects r join erasures e on e.user_id = r.id where r.type = 'user'
        union
        select t.user_id, r.file, r.line from import_rejects r join theirs t on t.id = r.assessment_id
        where r.type is distinct from 'assessment'
      ),
      dropped_rejects as (
        delete from import_rejects r using their_rejects t where (r.file, r.line) = (t.file, t.line)
      ),
      moved as (
        delete from assessments a using dropped_assessments d where a.id = d.id
      ),
      proctors as (
        insert into import_users (id, deleted, name, first_name, last_name, email, seid, record_status)
        select e.user_id, false, p.name, p.first_name, p.last_name, p.email, p.seid, p.record_status
        from erasures e cross join lateral erased_person(e.user_id) as p
        where not exists (select from import_users u where u.id = e.user_id and u.deleted)
          and (
            exists (
              select from import_assessment_parts p
              where p.proctor_id = e.user_id and p.assessment_id not in (select id from theirs)
            )
            or exists (select from named join users u using (id) where named.id = e.user_id)
          )
      )
      select count(distinct user_id) as people, count(distinct (file, line)) as lines
      from (
        select user_id, file, line from dropped_assessments
        union all select * from dropped_parts
        union all select * from dropped_users
        union all select * from their_rejects
      ) as dropped`,
  )
  return { people: Number(left.people), lines: Number(left.lines) }
}
