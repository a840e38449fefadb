import type { Sql } from 'postgres'
import { latenciesOf, type Measure } from '../measured-service.ts'
import { pagesFrom } from '../paths.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, hundreds, inScope, sizeOf } from '../scopes.ts'
import type { Scope, World } from '../world.ts'

const PAGES = 1500

/** Milliseconds between two writes: ten a second. */
const PAUSE_MS = 100

/** A walk from the middle of the data during writes, compared with the same walk without writes. */
export const writes: Measure = {
  name: 'writes',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count } = await sizeOf(world.sql, scope)
    const start = hundreds(count / 2)
    const pages = Math.min(PAGES, Math.floor((count - start) / 100))
    /** Seconds for the pages after the first; the first page finds the middle. */
    const walk = () =>
      latenciesOf(world, scope, pagesFrom(start, pages + 1)).then(
        ([, ...latencies]) => latencies.reduce((sum, ms) => sum + ms, 0) / 1000,
      )
    const times = await inTurns(Math.min(3, world.options.rounds), {
      busy: () => whileWriting(world, scope, walk),
      quiet: walk,
    })
    return [
      {
        measure: `${pages.toLocaleString('en-US')} pages from the middle, 10 writes a second ÷ no writes`,
        ...compared(times.busy, times.quiet),
        unit: 's',
        beside: 'no writes',
        reach: { of: 'ratio', atMost: 1.3 },
        note: 'aim: 1.1',
      },
    ]
  },
}

/** Runs `work` while single assessments of a scope are changed and changed back. */
async function whileWriting<Value>(world: World, scope: Scope, work: () => Promise<Value>): Promise<Value> {
  const writer = world.connect(world.databaseUrl)
  const rows = await writer.unsafe<{ id: string }[]>(
    `select id from export_records where ${inScope(scope)} order by hashint8(id) limit 1000`,
  )
  let isOver = false
  const writing = (async () => {
    // Every assessment is changed twice, so that the data are unchanged in the end.
    for (let at = 0; !isOver || at % 2 === 1; at++) {
      await change(writer, rows[(at >> 1) % rows.length]?.id ?? '0')
      await Bun.sleep(PAUSE_MS)
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
