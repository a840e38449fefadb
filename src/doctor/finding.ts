import type { Sql } from 'postgres'
import { describeError } from '../postgres/describe-error.ts'

/** The outcome of one check. `wrong` makes the command fail, and nothing else. A `note` needs no remedy. */
export interface Finding {
  check: string
  status: 'ok' | 'note' | 'warning' | 'wrong' | 'skipped'
  /** The state that was found and, unless it is fine, the remedy. */
  detail: string
}

const outcome =
  (status: Finding['status']) =>
  (check: string, detail: string): Finding => ({ check, status, detail })

export const ok = outcome('ok')
export const note = outcome('note')
export const warning = outcome('warning')
export const wrong = outcome('wrong')
export const skipped = outcome('skipped')

/** A check that could not be made. */
export const failed = (check: string, error: unknown) => wrong(check, describeError(error, 'doctor'))

/** A name to report it by if it fails, and a check with one finding or several. */
export type Check = [name: string, run: () => Promise<Finding | Finding[]>]

/** Runs checks in their order. One that fails is a finding, too: the others are still made. */
export async function runChecks(checks: Check[]): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [name, run] of checks) findings.push(...[await run().catch(error => failed(name, error))].flat())
  return findings
}

/** Whether the role can read all of these tables and views. One that does not exist in its schema is left out. */
export async function canRead(db: Sql, ...tables: string[]): Promise<boolean> {
  const unreadable = await db`
    select from unnest(${tables}::text[]) as name
    where not has_table_privilege(to_regclass(name), 'select') or current_schema() is null`
  return unreadable.length === 0
}

/** A check of one table, which is skipped for a role that cannot read the table. */
export function tableCheck(
  check: string,
  table: string,
  run: (db: Sql) => Promise<[status: Finding['status'], detail: string]>,
): (db: Sql) => Promise<Finding> {
  return async db => {
    if (!(await canRead(db, table)))
      return skipped(check, `this role cannot read ${table}: see its privileges`)
    const [status, detail] = await run(db)
    return { check, status, detail }
  }
}
