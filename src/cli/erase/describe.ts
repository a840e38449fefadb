import type { Erasure } from '../../erasure/erase.ts'
import { escaped } from '../output.ts'
import type { Shown } from './shown.ts'

/** What an erasure did, or would do, and who has to be told. */
export function inWords(userId: string, isDryRun: boolean, erasure: Erasure, shown: Shown): string {
  const { erasedBefore, assessments, parts, proctored } = erasure
  const lines = [
    ['user', `${userId} ${isDryRun ? 'would be erased' : 'is erased'}${describeBefore(erasedBefore)}`],
    ['row', describeRow(erasure, isDryRun)],
    ['assessments', `${assessments} with ${count(parts, 'part')} ${isDryRun ? 'to remove' : 'removed'}`],
    ['proctored', `${count(proctored, 'assessment')} of others, without the name`],
    ...labelled('shown to', describeShown(shown)),
    ...(isDryRun ? [['', 'nothing was changed: this was a dry run']] : []),
  ]
  return lines.map(([label, text]) => `${(label ?? '').padEnd(13)}${escaped(text ?? '')}\n`).join('')
}

/** What became of --undo. @param erasedAt null for a person who was not erased */
export function undoneInWords(userId: string, erasedAt: string | null): string {
  if (erasedAt === null) return `user ${userId} is not erased: nothing was changed\n`
  return (
    `user ${userId} was erased at ${erasedAt}, and is not any more: the next load that has the person brings the ` +
    'person back; a feed needs --full once\n'
  )
}

const describeBefore = (erasedBefore: string | null) =>
  erasedBefore === null ? '' : `, and was erased before, at ${erasedBefore}`

function describeRow({ user }: Erasure, isDryRun: boolean): string {
  if (user === 'not there')
    return 'not in the data: only the id is kept, so that no load brings the person in'
  if (user === 'removed') return isDryRun ? 'would be removed' : 'removed'
  return `${isDryRun ? 'would stay' : 'stays'} as "Erased person", because assessments of others refer to it`
}

function describeShown({ integrations, notes }: Shown): string[] {
  const told = integrations?.map(
    ({ client_id, name, purpose, times, first, last }) =>
      `${name} (${client_id}), ${purpose ?? 'no purpose'}: ${count(times, 'time')}, first ${first}, last ${last}`,
  )
  return [...(told === undefined ? ['nobody knows'] : told.length > 0 ? told : ['no integration']), ...notes]
}

/** The label stands before the first of several lines. */
const labelled = (label: string, texts: string[]): string[][] =>
  texts.map((text, index) => [index === 0 ? label : '', text])

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`
