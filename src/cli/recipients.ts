import type { Recipient } from '../disclosures/recipients.ts'
import { counted, tableOf } from './output.ts'

/** The columns of an integration that was sent records. */
export const COLUMNS = [
  'client_id',
  'name',
  'purpose',
  'times',
  'first',
  'last',
] as const satisfies (keyof Recipient)[]

/** Its cells, in the order of the columns. */
export const cellsOf = (recipient: Recipient): string[] => COLUMNS.map(name => String(recipient[name] ?? ''))

/** What is printed for no answer. */
export const NOTHING = 'The record has no such answer.\n'

/** A table with a row for each integration. */
export const recipientsTable = (recipients: Recipient[]): string =>
  recipients.length === 0 ? NOTHING : tableOf(['client id', ...COLUMNS.slice(1)], recipients.map(cellsOf))

/** One of them in a line. */
export const describeRecipient = ({ client_id, name, purpose, times, first, last }: Recipient): string =>
  `${name ?? 'no name'} (${client_id}), ${purpose ?? 'no purpose'}: ${counted(times, 'time')}, first ${first}, last ${last}`
