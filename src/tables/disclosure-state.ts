import { sql } from 'drizzle-orm'
import { disclosureState as state } from '../../db/schema.ts'
import { LOCKS } from '../database/advisory-locks.ts'
import { orm } from '../database/orm.ts'
import { type Runner, statement } from '../database/statement.ts'
import { type CommandSql, transact } from '../database/transact.ts'
import { Failure } from '../errors.ts'

/** Whether disclosures are recorded before an answer is sent, and for how long they are kept. */
export interface DisclosureState {
  isOn: boolean
  /** An interval as Postgres writes it; null for ever. */
  kept: string | null
}

/** The row of disclosure_state; undefined if somebody has deleted it. */
export async function readDisclosureState(db: Runner): Promise<DisclosureState | undefined> {
  const [row] = await select(db, {})
  return row
}

const select = statement<Record<string, never>, DisclosureState>(
  sql`select ${state.isOn} as "isOn", ${state.kept}::text as kept from ${state}`,
  false,
)

/** For people: "on, kept for 400 days". */
export function describeDisclosureState({ isOn, kept }: DisclosureState): string {
  return `${isOn ? 'on' : 'off'}, ${kept === null ? 'kept for ever' : `kept for ${kept}`}`
}

/**
 * Switches the recording of disclosures, and sets how long they are kept; what is left out stays.
 * @param wanted `kept` as an interval that Postgres can read
 * @returns the new state, and whether it differs from the old one
 * @throws Failure if the row was deleted
 */
export async function setDisclosureState(
  db: CommandSql,
  { isOn, kept }: Partial<DisclosureState>,
): Promise<DisclosureState & { changed: boolean }> {
  return await transact(db, async client => {
    const tx = orm(client)
    const columns = { isOn: state.isOn, kept: state.kept }
    const [before] = await tx.select(columns).from(state).for('update')
    if (!before)
      throw new Failure(
        'disclosure_state is empty, its one row was deleted: insert into disclosure_state default values, then axport migrate --disclosures on',
      )
    const after = { isOn: isOn ?? before.isOn, kept: kept === undefined ? before.kept : kept }
    const [row] = await tx.update(state).set(after).returning(columns)
    if (!row) throw new Error('disclosure_state has lost its row')
    return { ...row, changed: before.isOn !== row.isOn || before.kept !== row.kept }
  })
}

/** Deletes at most 1,000 expired disclosures; none while another process does. @returns how many */
export async function purgeDisclosures(db: Runner): Promise<number> {
  const [row] = await purge(db, {})
  return row?.count ?? 0
}

const purge = statement<Record<string, never>, { count: number }>(sql`
  with turn as materialized (select pg_try_advisory_xact_lock(${LOCKS.purge}) as is_ours)
  select case when is_ours then purge_disclosures() else 0 end as count from turn`)
