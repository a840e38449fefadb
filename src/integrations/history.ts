import type { Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { type ExactNumber, parseExact } from './exact-ids.ts'

/** A row of the history of integrations (0007_integration_history). Times are ISO 8601 in UTC. */
interface HistoryEvent {
  at: string
  client_id: string
  /** Name and purpose as they were after the event; before it for a deletion. */
  name: string
  purpose: string | null
  /** created, found, described, scope, rotated, secret, disabled, enabled or deleted */
  event: string
  changes: Changes
  /** The role in the database that made the change. */
  role: string
  /** An address, or the name of a machine; null if unknown. */
  host: string | null
}

/** The fields that an event changed, and no others. */
export interface Changes {
  client_id?: Change<string>
  name?: Change<string>
  purpose?: Change<string>
  contact?: Change<string>
  organizations?: ChangedIds
  products?: ChangedIds
  /** Whether the set was given as "all". */
  all_organizations?: Change<boolean>
  all_products?: Change<boolean>
  disabled_at?: Change<string>
  /** Secrets that were added and removed, by their ids in the database. */
  secrets?: ChangedIds
  /** The secret whose end was set or moved. */
  secret?: ExactNumber
  expires_at?: Change<string>
}

/** A value before and after. */
type Change<Value> = [before: Value | null, after: Value | null]

/** The ids that were added to a set and removed from it. */
export interface ChangedIds {
  added?: ExactNumber[]
  removed?: ExactNumber[]
}

/**
 * The history of one integration, or of all, deleted ones included; oldest first.
 * @throws Failure for a client id that the history does not have
 */
export async function readHistory(db: Sql, clientId?: string): Promise<HistoryEvent[]> {
  const rows = await db<{ event: string }[]>`
    select json_build_object(
      'at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
      'client_id', client_id,
      'name', name,
      'purpose', purpose,
      'event', event,
      'changes', changes,
      'role', role,
      'host', host
    )::text as event
    from integration_history
    where ${clientId === undefined ? db`true` : db`client_id = ${clientId}`}
    order by id`
  if (clientId !== undefined && rows.length === 0) {
    throw new Failure(
      `the history has no integration ${clientId}: axport integration history shows those that it has`,
    )
  }
  return rows.map(({ event }) => parseExact(event) as HistoryEvent)
}
