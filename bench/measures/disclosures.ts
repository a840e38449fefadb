import type { Sql } from 'postgres'
import { axport, timedImport } from '../executable.ts'
import { type Measure, withService } from '../measured-service.ts'
import { walkPaths } from '../paths.ts'
import type { Result } from '../results.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import { FIRST_PAGE } from '../service.ts'
import type { World } from '../world.ts'

/** The answers of a nightly export of a million records during a year. */
const ANSWERS_OF_A_YEAR = (1_000_000 / 100) * 365

/**
 * The cost of recording disclosures before answers are sent: first pages by all connections; an export by one client,
 * which waits for a commit for every page; the bytes of recorded disclosures; and an import, which must not become
 * slower.
 */
export const disclosures: Measure = {
  name: 'disclosures',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count } = await sizeOf(world.sql, scope)
    const walk = { paths: walkPaths(count), connections: 1 }
    const rounds = Math.min(3, world.options.rounds)
    try {
      const pages = await withService(world, scope, async ({ rate, warmUp }) => {
        await warmUp({ paths: [FIRST_PAGE] })
        return await inTurns(
          world.options.rounds,
          both(world, () => rate({ paths: [FIRST_PAGE] })),
        )
      })
      await world.sql`truncate disclosures`
      const exports = await inTurns(
        rounds,
        both(world, () => withService(world, scope, async ({ load }) => (await load(walk)).seconds)),
      )
      const bytes = await bytesOf(world.sql)
      return [
        {
          measure: 'first pages with disclosures recorded ÷ without',
          ...compared(pages.on, pages.off),
          unit: '/s',
          beside: 'without',
          reach: { of: 'ratio', atLeast: 0.6 },
          note: 'aim: 0.8',
        },
        {
          measure: `full export of ${count.toLocaleString('en-US')} by one client, with disclosures recorded ÷ without`,
          ...compared(exports.on, exports.off),
          unit: 's',
          beside: 'without',
        },
        {
          measure: 'bytes in the database per disclosed record',
          figure: bytes.aRecord,
          unit: 'B',
          reach: { of: 'value', atMost: 20 },
          note: 'aim: 12; pages of 100',
        },
        {
          measure: 'disclosures of a year of nightly exports of 1,000,000',
          figure: (bytes.anAnswer * ANSWERS_OF_A_YEAR) / 1e9,
          unit: 'GB',
          note: 'computed from the bytes of an answer',
        },
        await importUnchanged(world, rounds),
      ]
    } finally {
      await record(world, 'off')
    }
  },
}

const record = ({ executable, databaseUrl }: World, state: 'on' | 'off') =>
  axport(executable, ['migrate', '--disclosures', state], { DATABASE_URL: databaseUrl })

/** Measures a figure with the recording of disclosures switched on and off. */
const both = (world: World, figure: () => Promise<number>) => ({
  on: async () => {
    await record(world, 'on')
    return await figure()
  },
  off: async () => {
    await record(world, 'off')
    return await figure()
  },
})

async function bytesOf(sql: Sql): Promise<{ anAnswer: number; aRecord: number }> {
  const [row] = await sql<{ bytes: number; answers: number; records: number }[]>`
    select pg_total_relation_size('disclosures')::float8 as bytes, count(*)::float8 as answers,
      sum(cardinality(assessment_ids) + coalesce(cardinality(large_assessment_ids), 0))::float8 as records
    from disclosures`
  if (!row?.answers) throw new Error('no disclosure was recorded')
  return { anAnswer: row.bytes / row.answers, aRecord: row.bytes / row.records }
}

async function importUnchanged(world: World, rounds: number): Promise<Result> {
  const result: Result = {
    measure: 'import of the same file again, with disclosures recorded ÷ without',
    unit: 's',
    beside: 'without',
  }
  const { executable, databaseUrl, source } = world
  if (!source) return { ...result, note: 'not measured: the database already had the data' }
  const again = async () => (await timedImport(executable, databaseUrl, source.file)).seconds
  const times = await inTurns(rounds, both(world, again))
  return { ...result, ...compared(times.on, times.off) }
}
