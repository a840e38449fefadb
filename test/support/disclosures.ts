import type { Sql } from 'postgres'
import { setDisclosureState } from '../../src/tables/disclosure-state.ts'

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
    from disclosures d
    order by d.at, d.key`
  return [...rows]
}

/** Switches the recording of disclosures on or off. */
export async function record(sql: Sql, isOn = true): Promise<void> {
  await setDisclosureState(sql, { isOn })
}
