import type { Sql } from 'postgres'
import { readRecordState } from '../../disclosures/record.ts'
import { integrationsShown, type Shown as ShownTo } from '../../disclosures/shown.ts'
import { StatusLine } from '../output.ts'

/** Which integrations were shown the records of a person, and what that is worth. */
export interface Shown {
  /** null where nobody knows. */
  integrations: ShownTo[] | null
  notes: string[]
}

/** Asks what is recorded of an educator, whose id stays there. @param userId decimal */
export async function shownTo(sql: Sql, userId: string): Promise<Shown> {
  const { disclosing, begins } = await readRecordState(sql)
  if (begins === null && !disclosing?.isOn) return NOT_RECORDED
  const status = new StatusLine()
  const integrations = await integrationsShown(sql, { userId }, ({ answers }) =>
    status.show(() => `looked through ${answers} recorded answers`),
  ).finally(() => status.clear())
  return { integrations, notes: begins === null ? [] : [`the record begins with ${begins}`] }
}

const NOT_RECORDED: Shown = {
  integrations: null,
  notes: ['answers are not recorded: axport migrate --disclosures on begins with that'],
}

/** For when the person is erased, and what is recorded cannot be read. */
export const unreadable = (userId: string): Shown => ({
  integrations: null,
  notes: [`what is recorded could not be read: axport disclosures --user ${userId} asks again`],
})

/** The record has educators by their ids, and proctors by the assessments in which they were named. */
export const notesOnProctored = (proctored: number): string[] =>
  proctored === 0
    ? []
    : [
        'as a proctor the person was named in assessments of others: axport disclosures --assessment ID asks for one',
      ]
