import type { Measure } from '../measured-service.ts'
import { walkPaths } from '../paths.ts'
import { BESIDE_PGBENCH, secondsOf } from '../pgbench.ts'
import type { Result } from '../results.ts'
import { besideBefore, byBoth, compared, inTurns } from '../rounds.ts'
import { broadScope, inScope, sizeOf, variantsOf } from '../scopes.ts'
import { walkTogether } from '../walkers.ts'
import type { Deployment, Scope, World } from '../world.ts'

/** The number of clients that export side by side. */
const CLIENTS = 4

/**
 * Full exports, page by page, from a service with empty page memory: by one client, compared with pgbench that reads the
 * same pages as rows, and with an export of a tenth of the records; and by several clients side by side.
 */
export const fullExport: Measure = {
  name: 'export',
  async run(world) {
    // At most three rounds, because a walk over millions takes minutes.
    const rounds = Math.min(3, world.options.rounds)
    const all = await exportOf(world, world)
    const tenth = await aTenth(world)
    const one = await inTurns(rounds, {
      walk: () => exportTogether(world, world, [all]),
      pages: secondsOf(world, pagesAsRows(all.scope), Math.ceil(all.count / 100)),
      tenth: 'why' in tenth ? undefined : () => exportTogether(world, tenth.deployment, [tenth]),
    })
    const several: Export[] = []
    for (const scope of variantsOf(all.scope, CLIENTS))
      several.push({ scope, ...(await sizeOf(world.sql, scope)) })
    const sideBySide = await inTurns(
      rounds,
      byBoth(world, deployment => exportTogether(world, deployment, several)),
    )
    return [
      {
        measure: `full export of ${all.count.toLocaleString('en-US')} by one client ÷ pgbench, the same pages as rows`,
        ...compared(one.walk, one.pages),
        ...BESIDE_PGBENCH,
        unit: 's',
        reach: { of: 'ratio', atMost: 2 },
      },
      besideBefore(
        `full exports by ${CLIENTS} clients side by side`,
        's',
        sideBySide.present,
        sideBySide.before,
        { of: 'ratio', atMost: 0.6 },
      ),
      tenthResult(compared(one.walk, one.tenth), 'why' in tenth ? tenth.why : undefined),
    ]
  },
}

/** An export: its scope, and the number and bytes of its records. */
interface Export {
  scope: Scope
  count: number
  bytes: number
}

async function exportOf(world: World, { databaseUrl }: Deployment): Promise<Export> {
  const sql = world.connect(databaseUrl)
  try {
    const scope = await broadScope(sql)
    return { scope, ...(await sizeOf(sql, scope)) }
  } finally {
    await sql.end()
  }
}

/** A page by its documents, with a constant scope and no token; the next execution begins after the last row. */
function pagesAsRows(scope: Scope) {
  return {
    text: `select certified_on, id, document from export_records
      where ${inScope(scope)} and (certified_on, id) > (:certified_on, :id)
      order by certified_on, id limit 100 \\aset`,
    values: { certified_on: '-infinity', id: '0' },
  }
}

/** Seconds until each export has been read to its end by a client of its own, on a service with empty page memory. */
async function exportTogether(world: World, deployment: Deployment, exports: Export[]): Promise<number> {
  const walkers = exports.map(({ scope, count }) => ({ scope, paths: walkPaths(count) }))
  const outcomes = await walkTogether(world, deployment, walkers)
  for (const [at, { bytes }] of outcomes.entries()) requireAll(bytes, exports[at] as Export)
  return Math.max(...outcomes.map(({ seconds }) => seconds))
}

/** Throws unless every document came once: the bytes must be those of documents, commas and envelopes. */
function requireAll(received: number, { count, bytes }: Export): void {
  const pages = Math.ceil(count / 100)
  const envelope = (offset: number) => `{"data":[],"meta":{"count":${count},"offset":${offset},"page":100}}`
  const envelopes = Array.from({ length: pages }, (_, at) => envelope(at * 100).length)
  const expected = bytes + (count - pages) + envelopes.reduce((sum, length) => sum + length, 0)
  if (received !== expected) throw new Error(`the export has ${received} bytes instead of ${expected}`)
}

const MOST = 10_000_000

/** At ten million records: an export of a tenth of the records from another database. */
async function aTenth(world: World): Promise<(Export & { deployment: Deployment }) | { why: string }> {
  if (world.records !== MOST) return { why: 'not measured: needs --records 10000000' }
  const deployment = await world.another(MOST / 10)
  return deployment
    ? { deployment, ...(await exportOf(world, deployment)) }
    : { why: 'not measured: the Postgres at --database is not our own' }
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
