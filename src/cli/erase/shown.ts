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
  const since = begins === null ? [] : [`the record begins with ${begins}`]
  return { integrations, notes: disclosing?.isOn ? since : [...since, IS_OFF] }
}

const NOT_RECORDED: Shown = {
  integrations: null,
  notes: ['answers are not recorded: axport migrate --disclosures on begins with that'],
}

const IS_OFF = 'answers are not recorded now: nobody knows of those that were sent while the record was off'

/** For when the person is erased, and what is recorded cannot be read. */
export const unreadable = (userId: string): Shown => ({
  integrations: null,
  notes: [`what is recorded could not be read: axport disclosures --user ${userId} asks again`],
})

/** For when standbys still show the person. */
export const askAgain = (userId: string): string =>
  `standbys may show the person until they have the erasure: axport disclosures --user ${userId} asks again`

/** The record has educators by their ids, and proctors by the assessments in which they were named. */
export const notesOnProctored = (proctored: number): string[] =>
  proctored === 0
    ? []
    : [
        'as a proctor the person was named in assessments of others: axport disclosures --assessment ID asks for one',
      ]
