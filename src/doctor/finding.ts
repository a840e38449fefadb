import type { Sql, TransactionSql } from 'postgres'

export type Db = Sql | TransactionSql

/** What a check has found, and unless it is fine, what to do. `wrong` makes the command fail, and nothing else does. */
export interface Outcome {
  status: 'ok' | 'warning' | 'wrong' | 'skipped'
  detail: string
}

/** The outcome of a check, with its name. */
export interface Finding extends Outcome {
  check: string
}

export const ok = (detail: string): Outcome => ({ status: 'ok', detail })
export const warning = (detail: string): Outcome => ({ status: 'warning', detail })
export const wrong = (detail: string): Outcome => ({ status: 'wrong', detail })
export const skipped = (detail: string): Outcome => ({ status: 'skipped', detail })
