import type { Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { type ExactNumber, parseExact } from './exact-ids.ts'

/** Something that happened to an integration, as 0007_integration_history keeps it. Times are ISO 8601 in UTC. */
export interface HistoryEvent {
  at: string
  client_id: string
  /** Both as they were after the event; before it where it is deleted. */
  name: string
  purpose: string | null
  event:
    | 'created'
    | 'found'
    | 'described'
    | 'scope'
    | 'rotated'
    | 'secret'
    | 'disabled'
    | 'enabled'
    | 'deleted'
  changes: Changes
  /** Of the database. */
  role: string
  /** An address, or the name of a machine; null where nobody gave one. */
  host: string | null
}

/** Exactly what an event changed; whatever it did not is left out. */
export interface Changes {
  client_id?: Change<string>
  name?: Change<string>
  purpose?: Change<string>
  contact?: Change<string>
  organizations?: ChangedIds
  products?: ChangedIds
  /** Whether the set was meant as all. */
  all_organizations?: Change<boolean>
  all_products?: Change<boolean>
  disabled_at?: Change<string>
  /** Those it got and those that ended, by their ids in the database. */
  secrets?: ChangedIds
  /** The secret whose end was set or moved, and how. */
  secret?: ExactNumber
  expires_at?: Change<string>
}

/** A value before and after. */
type Change<Value> = [before: Value | null, after: Value | null]

/** What came to a set of ids, and what went. */
export interface ChangedIds {
  added?: ExactNumber[]
  removed?: ExactNumber[]
}

/**
 * All that happened to one integration, or to all of them, the oldest first; also of those that were deleted.
 * @throws Failure for a client id that the history does not know
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
