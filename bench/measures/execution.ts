import type { Sql } from 'postgres'
import { SERVING } from '../../src/postgres/database.ts'
import { LIST } from '../../test/support/http.ts'
import { type Measure, withService } from '../measured-service.ts'
import { walksAgain } from '../paths.ts'
import type { Result } from '../results.ts'
import { byBoth, inTurns } from '../rounds.ts'
import { broadScope, firstIdIn, sizeOf } from '../scopes.ts'
import { type SentQuery, sentQueries } from '../sent-queries.ts'
import type { Deployment, Scope, World } from '../world.ts'

/** The number of requests from whose statements the hot ones are taken. */
const REQUESTS = 30

/** The number of executions in a round. */
const RUNS = 150

/** A request that is sent over and over, and the most microseconds of its statements in Postgres. */
interface Hot {
  name: string
  paths: string[]
  atMost: number
  aim: number
}

/**
 * The least execution time in Postgres of the queries that a service sends for a page of a walk and for a record by id.
 * The texts and parameters are from the log of Postgres, so any executable can be measured. The least of many times
 * hardly depends on the other load of the machine.
 */
export const execution: Measure = {
  name: 'execution',
  async run(world) {
    const scope = await broadScope(world.sql)
    const id = await firstIdIn(world.sql, scope)
    const { count } = await sizeOf(world.sql, scope)
    const page = { name: 'a page of a walk', paths: walksAgain(count, REQUESTS), atMost: 165, aim: 130 }
    const record = {
      name: 'a record by id',
      paths: Array(REQUESTS).fill(`${LIST}/${id}`),
      atMost: 30,
      aim: 20,
    }
    return [await resultOf(world, scope, page), await resultOf(world, scope, record)]
  },
}

async function resultOf(world: World, scope: Scope, { name, paths, atMost, aim }: Hot): Promise<Result> {
  const result: Result = {
    measure: `least execution time in Postgres of ${name}`,
    unit: 'µs',
    beside: 'before',
    reach: { of: 'value', atMost },
  }
  if (world.options.database)
    return { ...result, note: 'not measured: the log of the Postgres at --database is not our own' }
  const hot = new Map<Deployment, SentQuery[]>()
  for (const deployment of world.before ? [world, world.before] : [world])
    hot.set(deployment, await hotQueries(world, scope, paths, deployment))
  // A whole round is sometimes half as slow again, whatever is measured.
  const rounds = Math.max(3, world.options.rounds)
  const { present, before } = await inTurns(
    rounds,
    byBoth(world, deployment => leastTime(world, deployment, hot.get(deployment) ?? [])),
  )
  const figure = Math.min(...present)
  const limit = before && Math.min(...before)
  return {
    ...result,
    figure,
    ...(limit !== undefined && { limit, ratio: figure / limit }),
    note: `aim: ${aim}; statements for a request: ${hot.get(world)?.length}`,
    rounds: present.map((round, at) => ({ figure: round, ...(before?.[at] && { limit: before[at] }) })),
  }
}

/** The queries that are sent for most of the requests, each with the parameters of the last request. */
async function hotQueries(
  world: World,
  scope: Scope,
  paths: string[],
  deployment: Deployment,
): Promise<SentQuery[]> {
  const walk = () => withService(world, scope, ({ load }) => load({ paths, connections: 1 }), deployment)
  const sent = await sentQueries(world, deployment, walk)
  const byText = Map.groupBy(sent, ({ text }) => text)
  const hot = [...byText.values()].filter(queries => queries.length > paths.length / 2)
  if (hot.length === 0) throw new Error(`no query was sent for most of the ${paths.length} requests`)
  return hot.map(queries => queries.at(-1) as SentQuery)
}

/** Microseconds of the queries together: for each the least of many executions, by a generic plan. */
async function leastTime(world: World, { databaseUrl }: Deployment, queries: SentQuery[]): Promise<number> {
  const sql = world.connect(databaseUrl)
  try {
    const settings = { ...SERVING, TimeZone: 'UTC', DateStyle: 'ISO', plan_cache_mode: 'force_generic_plan' }
    for (const [name, value] of Object.entries(settings))
      await sql`select set_config(${name}, ${value}, false)`
    let sum = 0
    for (const [at, query] of queries.entries()) sum += await leastTimeOf(sql, `measured_${at}`, query)
    return sum
  } finally {
    await sql.end()
  }
}

async function leastTimeOf(sql: Sql, name: string, { text, literals }: SentQuery): Promise<number> {
  await sql.unsafe(`prepare ${name} as ${text}`)
  const execute = `execute ${name}${literals.length > 0 ? `(${literals.join()})` : ''}`
  await requireDocument(sql, execute)
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS; run++) {
    const [row] = await sql.unsafe(`explain (analyze, timing off, summary on, format json) ${execute}`)
    least = Math.min(least, row?.['QUERY PLAN'][0]['Execution Time'])
  }
  return least * 1000
}

/** Throws unless the statement answers: a statement that refuses its parameters would take too little time. */
async function requireDocument(sql: Sql, execute: string): Promise<void> {
  const rows = await sql.unsafe(execute)
  if (!JSON.stringify(rows).includes('\\"id\\"')) throw new Error('a hot query has returned no document')
}
