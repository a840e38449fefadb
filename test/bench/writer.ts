import postgres, { type Sql } from 'postgres'
import { inScope, type Scope } from './scopes.ts'
import type { Side } from './side.ts'

/** Runs `work` while `perSecond` times a second one assessment of a scope is changed, or changed back. */
export async function whileWriting<Value>(
  { databaseUrl }: Side,
  scope: Scope,
  perSecond: number,
  work: () => Promise<Value>,
): Promise<Value> {
  if (perSecond === 0) return await work()
  const writer = postgres(databaseUrl, { max: 1 })
  const rows = await writer.unsafe<{ id: string }[]>(
    `select id from export_records where ${inScope(scope)} order by hashint8(id) limit 1000`,
  )
  let isOver = false
  const writing = (async () => {
    const start = performance.now()
    // Every assessment is changed twice, so that the data are unchanged in the end.
    for (let at = 0; !isOver || at % 2 === 1; at++) {
      await change(writer, rows[(at >> 1) % rows.length]?.id ?? '0')
      await Bun.sleep(Math.max(0, start + ((at + 1) * 1000) / perSecond - performance.now()))
    }
  })()
  try {
    return await work()
  } finally {
    isOver = true
    await writing
    await writer.end()
  }
}

async function change(writer: Sql, id: string): Promise<void> {
  const { count } = await writer`update assessments set legacy_record = not legacy_record where id = ${id}`
  if (count !== 1) throw new Error('the update changed no assessment')
}
