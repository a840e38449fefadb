import { sql } from 'drizzle-orm'
import { integrations as i, integrationRefusals as r } from '../../db/schema.ts'
import { type Runner, statement } from '../postgres/statement.ts'

/** Adds to the refusals of an integration, which are counted by reason; does nothing for an unknown client id. */
export async function addRefusals(db: Runner, clientId: string, counts: Map<string, number>): Promise<void> {
  await insertRefusals(db, { client_id: clientId, counts: JSON.stringify([...counts]) })
}

/** Rows are written in one order: two processes that write at the same moment would deadlock otherwise. */
const insertRefusals = statement<{ client_id: string; counts: string }, never>(sql`
  insert into ${r} (integration_id, what, count, first_at, last_at)
  select ${i.id}, added->>0, (added->>1)::bigint, now(), now()
  from ${i}, json_array_elements(${sql.placeholder('counts')}::text::json) as added
  where ${i.clientId} = ${sql.placeholder('client_id')}
  order by 2
  on conflict (integration_id, what) do update set
    count = excluded.count + case when ${r.lastAt} > now() - interval '7 days' then ${r.count} else 0 end,
    first_at = case when ${r.lastAt} > now() - interval '7 days' then ${r.firstAt} else excluded.first_at end,
    last_at = excluded.last_at`)
