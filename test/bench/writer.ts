import postgres, { type Sql } from 'postgres'
import { within } from '../../src/timeouts.ts'
import { inScope, type Scope } from './scopes.ts'
import type { Side } from './side.ts'

/** What a write changes: a document alone, or a list, too. */
export type Change = keyof typeof CHANGES

const CHANGES = {
  email: (sql: Sql, id: string) => sql`
    update users set email = case when email like 'changed.%' then substr(email, 9) else 'changed.' || email end
    where id = (select user_id from assessments where id = ${id})`,
  list: (sql: Sql, id: string) => sql`
    update assessments set legacy_record = not legacy_record where id = ${id}`,
}

/** Runs `work` while `perSecond` times a second one assessment of a scope is changed, or changed back. */
export async function whileWriting<Value>(
  { databaseUrl }: Side,
  scope: Scope,
  change: Change,
  perSecond: number,
  work: () => Promise<Value>,
): Promise<Value> {
  const writer = postgres(databaseUrl, { max: 1 })
  const rows = await writer.unsafe<{ id: string }[]>(
    `select id from export_records where ${inScope(scope)} order by hashint8(id) limit 1000`,
  )
  let isOver = false
  const working = work().finally(() => {
    isOver = true
  })
  const ended = working.then(
    () => {},
    () => {},
  )
  try {
    const start = performance.now()
    // Every assessment is changed twice, so that the data are unchanged in the end.
    for (let at = 0; !isOver || at % 2 === 1; at++) {
      const { count } = await CHANGES[change](writer, rows[(at >> 1) % rows.length]?.id ?? '0')
      if (count !== 1) throw new Error('the update changed no row')
      await within(Math.max(0, start + ((at + 1) * 1000) / perSecond - performance.now()), ended, undefined)
    }
    return await working
  } finally {
    await writer.end()
  }
}
