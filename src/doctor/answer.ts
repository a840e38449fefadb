import type { Sql, TransactionSql } from 'postgres'

export type Db = Sql | TransactionSql

/** What was found, and unless it is fine, what to do. `wrong` makes the command fail, and nothing else does. */
export interface Answer {
  status: 'ok' | 'warning' | 'wrong' | 'skipped'
  detail: string
}

/** An answer, and the name of its question. */
export interface Finding extends Answer {
  check: string
}

export const ok = (detail: string): Answer => ({ status: 'ok', detail })
export const warning = (detail: string): Answer => ({ status: 'warning', detail })
export const wrong = (detail: string): Answer => ({ status: 'wrong', detail })
export const skipped = (detail: string): Answer => ({ status: 'skipped', detail })
