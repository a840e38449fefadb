import type { Sql } from 'postgres'
import { onlyRow } from '../postgres/statement.ts'
import { type Finding, ok, warning, wrong } from './finding.ts'

const CHECK = 'confirmation'

/** Whether the standbys of synchronous_standby_names, for which each commit waits, are connected. */
export async function checkConfirmation(db: Sql): Promise<Finding> {
  const rows = await db<{ names: string; waits: boolean; confirming: number; hidden: boolean }[]>`
    select current_setting('synchronous_standby_names') as names,
      current_setting('synchronous_commit') not in ('off', 'local') and not pg_is_in_recovery() as waits,
      (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum'))::integer as confirming,
      exists (select from pg_stat_replication where sync_state is null) as hidden`
  const { names, waits, confirming, hidden } = onlyRow(rows)
  if (names.trim() === '' || !waits) return ok(CHECK, 'commits wait for no standby')
  const setting = `synchronous_standby_names = '${names}'`
  const needed = Number(/^\s*(?:any\s+|first\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
  if (confirming >= needed) return ok(CHECK, `commits wait for ${setting}, which is connected`)
  if (hidden)
    return warning(
      CHECK,
      `commits wait for ${setting}; grant pg_monitor to this role to see whether it is connected`,
    )
  return wrong(
    CHECK,
    `commits wait for ${setting}, and ${confirming} of ${needed} are connected: no token is issued, and no page is ` +
      'answered whose disclosure is recorded; start those standbys, or change the setting',
  )
}
