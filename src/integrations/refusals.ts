import { sql } from 'drizzle-orm'
import { integrations as i, integrationRefusals as r } from '../../db/schema.ts'
import { type Runner, statement } from '../postgres/statement.ts'

/** How often each thing was said to an integration. */
export type Refusals = ReadonlyMap<string, number>

/** Adds to the refusals of an integration; nothing happens when there is none of this client id. */
export async function addRefusals(db: Runner, clientId: string, refusals: Refusals): Promise<void> {
  const noted = [...refusals].map(([what, count]) => ({ what, count }))
  await insertRefusals(db, { client_id: clientId, noted: JSON.stringify(noted) })
}

/** In one order for all: two processes that add at the same moment must not wait for each other. */
const insertRefusals = statement<{ client_id: string; noted: string }, never>(sql`
  insert into ${r} (integration_id, what, count, first_at, last_at)
  select ${i.id}, noted.what, noted.count, now(), now()
  from ${i}, json_to_recordset(${sql.placeholder('noted')}::text::json) as noted (what text, count bigint)
  where ${i.clientId} = ${sql.placeholder('client_id')}
  order by noted.what
  on conflict (integration_id, what) do update set
    count = excluded.count + case when ${r.lastAt} > now() - interval '7 days' then ${r.count} else 0 end,
    first_at = case when ${r.lastAt} > now() - interval '7 days' then ${r.firstAt} else excluded.first_at end,
    last_at = excluded.last_at`)
