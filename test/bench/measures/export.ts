import { type Measure, withService } from '../measured-service.ts'
import { walkPaths } from '../paths.ts'
import { copy } from '../programs.ts'
import type { Result } from '../results.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, inScope, sizeOf } from '../scopes.ts'
import type { Scope, World } from '../world.ts'

/**
 * A full export by one client, page by page, from a service with empty page memory. The export is compared with COPY of
 * the same documents, and with an export of a tenth of the records.
 */
export const fullExport: Measure = {
  name: 'export',
  async run(world) {
    const all = await exportOf(world, world.databaseUrl)
    const tenth = await aTenth(world)
    const copied = copy(world.databaseUrl, `select document from export_records where ${inScope(all.scope)}`)
    const figures = await inTurns<string>(roundsFor(world), {
      walk: () => walkOnce(world, all),
      ...(copied && { copied }),
      ...('scope' in tenth && { tenth: () => walkOnce(world, tenth) }),
    })
    const { walk = [], copied: copies, tenth: tenths } = figures
    return [
      {
        measure: `full export of ${all.count.toLocaleString('en-US')} by one client ÷ COPY`,
        ...compared(walk, copies),
        unit: 's',
        beside: 'COPY',
        reach: { of: 'ratio', atMost: 2.5 },
        note: copied ? 'aim: 1.8' : 'no limit: psql not found',
      },
      tenthResult(compared(walk, tenths), 'why' in tenth ? tenth.why : undefined),
    ]
  },
}

/** An export: its database and scope, and the number and bytes of its records. */
interface Export {
  databaseUrl: string
  scope: Scope
  count: number
  bytes: number
}

async function exportOf(world: World, databaseUrl: string): Promise<Export> {
  const sql = world.connect(databaseUrl)
  try {
    const scope = await broadScope(sql)
    return { databaseUrl, scope, ...(await sizeOf(sql, scope)) }
  } finally {
    await sql.end()
  }
}

/** Seconds of one walk, on a service with empty page memory. */
async function walkOnce(world: World, { databaseUrl, scope, count, bytes }: Export): Promise<number> {
  const job = { paths: walkPaths(count), connections: 1 }
  const outcome = await withService(world, scope, ({ load }) => load(job), databaseUrl)
  requireAll(outcome.bytes, job.paths.length, count, bytes)
  return outcome.seconds
}

/** Throws unless every document came once: the bytes must be those of documents, commas and envelopes. */
function requireAll(received: number, pages: number, count: number, bytes: number): void {
  const envelope = (offset: number) => `{"data":[],"meta":{"count":${count},"offset":${offset},"page":100}}`
  const envelopes = Array.from({ length: pages }, (_, at) => envelope(at * 100).length)
  const expected = bytes + (count - pages) + envelopes.reduce((sum, length) => sum + length, 0)
  if (received !== expected) throw new Error(`the export has ${received} bytes instead of ${expected}`)
}

/** At most three rounds, because a walk over millions takes minutes. */
const roundsFor = ({ options }: World) => Math.min(3, options.rounds)

const MOST = 10_000_000

/** At ten million records: an export of a tenth of the records from another database. */
async function aTenth(world: World): Promise<Export | { why: string }> {
  if (world.records !== MOST) return { why: 'not measured: needs --records 10000000' }
  const url = await world.another(MOST / 10)
  return url ? await exportOf(world, url) : { why: 'not measured: the Postgres at --database is not our own' }
}

function tenthResult(found: ReturnType<typeof compared>, why: string | undefined): Result {
  const result: Result = {
    measure: 'full export at 10,000,000 ÷ at 1,000,000',
    unit: 's',
    beside: 'at 1,000,000',
    reach: { of: 'ratio', atMost: 10.5 },
  }
  return why === undefined ? { ...result, ...found } : { ...result, note: why }
}
