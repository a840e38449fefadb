import { sql } from 'drizzle-orm'
import { onlyRow, type Runner, rawStatement, rowOf, statement } from '../postgres/statement.ts'
import { ACCESS, type AccessRow } from './access.ts'
import { type Constraints, type ScopeSet, tokenOf, type Values } from './conditions.ts'
import type { Sets } from './count.ts'
import { recording } from './disclosure.ts'
import { type Mark, markOf, NEWEST, newest } from './mark.ts'

/** What a snapshot says of a token and of the data. */
export interface State {
  access: AccessRow | undefined
  /** For isRecorded(). */
  recording: Buffer | null
  mark: Mark | undefined
}

/** Reads the state of a snapshot, in its first statement. */
export async function readState(db: Runner, token: Uint8Array): Promise<State> {
  const [row] = await read(db, { token })
  const state = STATE.read(row)
  return { access: row && state, recording: state.recording, mark: markOf(state) }
}

const STATE = rowOf({ ...ACCESS, recording, ...NEWEST })

const read = rawStatement<{ token: Uint8Array }>(sql`
select ${STATE.list}
from live_tokens as token${newest}
where token.digest = ${sql.placeholder('token')}::bytea`)

/** Reads the sets of a token's scope, narrowed by the request; empty ones if the token is not live. */
export async function readSets(
  db: Runner,
  token: Uint8Array,
  { narrowed, values }: Constraints,
): Promise<Sets> {
  return onlyRow(await setsOf(narrowed)(db, { token, ...values }))
}

const setsOf = (narrowed: ScopeSet[]) =>
  statement<Values, Sets>(
    sql`
  select coalesce(max(organizations::text), '{}') as organizations, coalesce(max(products::text), '{}') as products
  from (${tokenOf(narrowed)}) as token`,
    false,
  )
