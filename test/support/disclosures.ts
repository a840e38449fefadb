import type { Sql } from 'postgres'
import { setDisclosing } from '../../src/tables/disclosing.ts'

/** The recorded disclosure of one answer; all ids are decimal strings in ascending order. */
export interface Recorded {
  request_id: string
  client_id: string
  address: string | null
  filters: string[] | null
  assessments: string[]
  people: string[]
}

/** All recorded disclosures, oldest first. */
export async function recorded(sql: Sql): Promise<Recorded[]> {
  const rows = await sql<Recorded[]>`
    select request_id, client_id, host(address) as address, filters,
      array(select id::text from unnest(assessment_ids::bigint[] || coalesce(large_assessment_ids, '{}')) id order by id) as assessments,
      array(select id::text from unnest(user_ids::bigint[] || coalesce(large_user_ids, '{}')) id order by id) as people
    from disclosures d join integration_history h on h.id = d.history_id
    order by d.at, d.key`
  return [...rows]
}

/** Switches the recording of disclosures on or off. */
export async function record(sql: Sql, isOn = true): Promise<void> {
  await setDisclosing(sql, { isOn })
}
