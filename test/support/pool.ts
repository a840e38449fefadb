import type { Runner } from '../../src/database/statement.ts'

/** A pool of one connection, so that what one statement leaves behind would meet the next one. */
export const ONE = { size: 1, waitMs: 10_000, statementMs: 10_000, slowMs: 60_000 }
export const NO_LOG = { info: () => {}, warn: () => {} }

/** A log, and the messages in it. */
export function logged() {
  const lines: string[] = []
  const note = (_: object, line: string) => void lines.push(line)
  return { lines, log: { info: note, warn: note } }
}

/** A client that never hangs up. */
export const PATIENT = { signal: new AbortController().signal }

/** Runs a statement without parameters, and returns its rows. */
export const ask = async (db: Runner, text: string): Promise<Record<string, unknown>[]> => [
  ...((await db.unsafe(text, [], { prepare: false })) as Record<string, unknown>[]),
]
