import type { Sql } from 'postgres'

/** Which integrations were shown the records of a person. */
export interface Shown {
  /** undefined where nobody knows. */
  integrations?: ShownTo[]
  /** What nobody should have to find out later. */
  note?: string
}

interface ShownTo {
  client_id: string
  name: string
  purpose: string | null
  times: number
  first: string
  last: string
}

/** Asks what is recorded of the person, whose id stays there. */
export async function shownTo(_sql: Sql, _userId: string): Promise<Shown> {
  return { note: NOT_RECORDED }
}

const NOT_RECORDED =
  'which integrations were shown the records is not known: answers are not recorded (axport migrate --disclosures on)'
