import { sql } from 'drizzle-orm'
import { type RawRow, type Runner, rawStatement, rowOf, type Statement, text } from '../database/statement.ts'
import { ACCESS, type AccessRow } from './access.ts'
import type { Values } from './constraints.ts'
import { recording } from './disclosure.ts'
import { joinNewest, type Mark, markOf, NEWEST } from './mark.ts'
import { liveToken, type ScopeSet, type Sets } from './scope.ts'

/** What a snapshot says of a token and of the data. */
export interface State {
  access: AccessRow | undefined
  /** The sets that are read. */
  sets: Sets
  /** For isRecorded(). */
  recording: Buffer | null
  mark: Mark | undefined
}

/**
 * Reads the state of a snapshot, in its first statement.
 * @param narrowed the sets of the scope that the request narrows, by those of `values`
 */
export async function readState(
  db: Runner,
  token: Uint8Array,
  narrowed: ScopeSet[],
  values: Values,
): Promise<State> {
  const read = statements.getOrInsertComputed(narrowed.join(), () => stateOf(narrowed))
  const [row] = await read(db, { ...values, token })
  const state = STATE.read(row)
  const sets = { organizations: text(state.organizations) ?? '{}', products: text(state.products) ?? '{}' }
  return { access: row && state, sets, recording: state.recording, mark: markOf(state) }
}

const STATE = rowOf({
  ...ACCESS,
  organizations: sql`token.organizations`,
  products: sql`token.products`,
  recording,
  ...NEWEST,
})

const statements = new Map<string, Statement<Values, RawRow>>()

const stateOf = (narrowed: ScopeSet[]) =>
  rawStatement<Values>(sql`
select ${STATE.list}
from (${liveToken(narrowed)}) as token${joinNewest}`)
