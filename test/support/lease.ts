import type { Lease } from '../../src/database/statement.ts'

/** A pool of one connection, so that what one lease leaves behind would meet the next one. */
export const ONE = { size: 1, waitMs: 10_000, statementMs: 10_000, slowMs: 60_000 }
export const NO_LOG = { info: () => {}, warn: () => {} }

/** A client that never hangs up. */
export const PATIENT = { signal: new AbortController().signal }

type Rows = Record<string, unknown>[]

/** Runs a statement of a lease, or one alone. */
export const ask = async (
  lease: Pick<Lease, 'unsafe'>,
  text: string,
  ...parameters: number[]
): Promise<Rows> => [...((await lease.unsafe(text, parameters, { prepare: true })) as Rows)]

/** The rows of statements that were just sent, with COMMIT right after them. */
export async function together(lease: Lease, ...sent: Promise<Rows>[]): Promise<Rows> {
  const [rows] = await Promise.all([Promise.all(sent), lease.commit()])
  return rows.flat()
}
