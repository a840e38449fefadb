import type { Sql } from 'postgres'
import { readRecordState } from '../../disclosures/record.ts'
import { describeDisclosing } from '../../postgres/disclosing.ts'

/** What the answer is worth, on standard error: the record knows nothing of what was sent before it began. */
export async function tellOfRecord(sql: Sql): Promise<void> {
  const { disclosing, begins } = await readRecordState(sql)
  const oldest = begins === null ? 'it has no answer yet' : `its oldest answer is of ${begins}`
  const state = disclosing === undefined ? 'in an unknown state' : describeDisclosing(disclosing)
  const advice = disclosing?.isOn === false ? '; axport migrate --disclosures on begins to record' : ''
  process.stderr.write(`The record is ${state}; ${oldest}${advice}.\n`)
}
