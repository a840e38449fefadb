import { hostname } from 'node:os'
import { eq, sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { integrationHistory as h } from '../../db/schema.ts'
import { isoOf, type Orm, orm } from '../database/orm.ts'
import { type CommandSql, transact } from '../database/transact.ts'
import { Failure } from '../errors.ts'
import { type ExactNumber, exactJson, exactNumber, parseExact } from './exact-ids.ts'

/** What a command has done with an integration. */
type Event = 'created' | 'described' | 'scope' | 'rotated' | 'undone' | 'disabled' | 'enabled' | 'deleted'

/** An integration at some moment: what commands can change of it, except for its secrets. */
export interface IntegrationState {
  clientId: string
  name: string
  purpose: string | null
  contact: string | null
  /** Ids as decimal strings. */
  organizationIds: string[]
  productIds: string[]
  allOrganizations: boolean
  allProducts: boolean
  /** ISO 8601 in UTC; null if it is enabled. */
  disabledAt: string | null
}

/** What an event changed, by column. A secret is named by its id. */
export type Changes = Record<string, Change | ChangedIds>

type Value = string | boolean | null

type Change = [before: Value, after: Value]

/** The ids that were added to a set, or to the secrets, and removed from it. */
type ChangedIds = { added?: ExactNumber[]; removed?: ExactNumber[] }

/** An event as commands print it. */
interface HistoryEvent {
  /** ISO 8601 in UTC. */
  at: string
  client_id: string
  name: string
  purpose: string | null
  event: string
  changes: Changes
  /** The person who ran the command; null if that is not known. */
  by: string | null
  /** The role that made the change in the database. */
  role: string
  /** An address, or the name of a machine. */
  host: string | null
}

/** Runs a transaction whose events name the person who runs the command. @throws as transact() */
export async function transactNoted<Result>(
  db: CommandSql,
  work: (tx: Orm) => Promise<Result>,
): Promise<Result> {
  return await transact(db, async client => {
    const tx = orm(client)
    await tx.execute(sql`select set_config('axport.by', ${db.by ?? ''}, true)`)
    return await work(tx)
  })
}

/**
 * Writes an event, in the transaction of its change. A command that has changed nothing leaves none.
 * @param before undefined if the integration was created
 * @param after undefined if it was deleted; then the event has the name and the purpose from before
 * @param secrets what changed of the secrets
 */
export async function note(
  tx: Orm,
  event: Event,
  before: IntegrationState | undefined,
  after: IntegrationState | undefined,
  secrets: Changes = {},
): Promise<void> {
  const integration = after ?? before
  const changes = { ...changesOf(before, after), ...secrets }
  if (!integration || Object.keys(changes).length === 0) return
  const { clientId, name, purpose } = integration
  await tx.insert(h).values({
    ...{ clientId, name, purpose, event },
    changes: sql`${exactJson(changes)}::text::jsonb`,
    by: sql`nullif(current_setting('axport.by', true), '')`,
    // Over a unix socket the server sees no address.
    host: sql`coalesce(host(inet_client_addr()), ${hostname()})`,
  })
}

function changesOf(before: IntegrationState | undefined, after: IntegrationState | undefined): Changes {
  return {
    ...changedValue('name', before?.name, after?.name),
    ...changedValue('purpose', before?.purpose, after?.purpose),
    ...changedValue('contact', before?.contact, after?.contact),
    ...changedIds('organizations', before?.organizationIds, after?.organizationIds),
    ...changedIds('products', before?.productIds, after?.productIds),
    ...changedValue('all_organizations', before?.allOrganizations ?? false, after?.allOrganizations ?? false),
    ...changedValue('all_products', before?.allProducts ?? false, after?.allProducts ?? false),
    ...changedValue('disabled_at', before?.disabledAt, after?.disabledAt),
  }
}

/** [before, after] under the name of a column; nothing if both are the same. */
export function changedValue(column: string, before: Value = null, after: Value = null): Changes {
  return before === after ? {} : { [column]: [before, after] }
}

/** What was added to a set of ids and removed from it, under its name; nothing if it is the same. */
export function changedIds(set: string, before: string[] = [], after: string[] = []): Changes {
  const [then, now] = [new Set(before), new Set(after)]
  const added = after.filter(id => !then.has(id)).map(exactNumber)
  const removed = before.filter(id => !now.has(id)).map(exactNumber)
  if (added.length + removed.length === 0) return {}
  return { [set]: { ...(added.length > 0 && { added }), ...(removed.length > 0 && { removed }) } }
}

/** The history of one integration or of all, deleted ones included, oldest first. @throws Failure if it has none */
export async function readHistory(db: Sql, clientId?: string): Promise<HistoryEvent[]> {
  const rows = await orm(db)
    .select({
      at: isoOf(h.at),
      client_id: h.clientId,
      name: h.name,
      purpose: h.purpose,
      event: h.event,
      changes: sql<string>`${h.changes}::text`,
      by: h.by,
      role: h.role,
      host: h.host,
    })
    .from(h)
    .where(clientId === undefined ? undefined : eq(h.clientId, clientId))
    .orderBy(h.id)
  if (clientId !== undefined && rows.length === 0)
    throw new Failure(`the history has no integration ${clientId}: axport integration history lists all`)
  return rows.map(row => ({ ...row, changes: parseExact(row.changes) as Changes }))
}
