import { expect } from 'bun:test'
import fc from 'fast-check'
import postgres from 'postgres'
import { start } from './executable.ts'
import { ndjsonOf, organization, range } from './fixtures.ts'
import { openWorld } from './operator.ts'
import { seed } from './tier.ts'

/** A command, and what its end says of the database. */
interface Call {
  args: string[]
  stdin?: string
  /** Whether the change is in the database; undefined for a command without one. */
  isDone?: () => Promise<boolean>
}

/** A line of an error may begin a command again, or name what is not known. No fault of the program is among these. */
const FAULT = /unexpected|TypeError|^\s+at |\b\w*Error:|Bun v\d/m

/** What the error of a command says whose change may be in the database, and of one whose change is. */
const NOT_KNOWN = /^axport: .* it is not known whether /m
const DONE = /^axport: (all was loaded|user \d+ is erased), and /m

/** Ends backends at random moments beside commands, so many times, and checks that each is told in one line, and truly. */
export async function endBackends(times: number): Promise<void> {
  const database = await openWorld()
  const env = { DATABASE_URL: database.url }
  const killer = postgres(database.url, { max: 1, onnotice: () => {} })
  const moments = fc.sample(fc.double({ min: 0, max: 1, noNaN: true }), { numRuns: 20_000, seed })
  let at = 0
  const next = () => moments[at++ % moments.length] ?? 0
  const endAll = async () =>
    (
      await killer`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
          and application_name = 'axport'`
    ).count
  const outcomes = new Map<string, number>()
  await database.sql.end()
  try {
    for (let ended = 0, round = 0; ended < times; round++) {
      const { args, stdin, isDone } = callOf(round, killer)
      const running = await start(args, { env, ...(stdin !== undefined && { stdin: { text: stdin } }) })
      let hit = 0
      // A command takes some 300 ms, of which the start of the process is a good part.
      for (let wait = 40 + next() * 300; running.exitCode() === undefined; wait = 5 + next() * 100) {
        await Promise.race([Bun.sleep(wait), running.finished])
        if (running.exitCode() === undefined) hit += await endAll()
        if (hit > 3) break
      }
      const { code, stdout, stderr } = await running.finished
      ended += hit
      const seen = JSON.stringify({ args, code, stdout, stderr })
      expect(seen).not.toMatch(/\\n\s+at /)
      expect(stderr, seen).not.toMatch(FAULT)
      expect(stdout, seen).not.toMatch(FAULT)
      expect([0, 1], seen).toContain(code)
      if (code !== 0) expect(stderr.match(/^axport: /gm), seen).toHaveLength(1)
      if (isDone && !NOT_KNOWN.test(stderr))
        expect(await isDone(), seen).toBe(code === 0 || DONE.test(stderr))
      const name = args[0] === 'integration' ? `integration ${args[1]}` : String(args[0])
      const outcome = `${name}: ${code}${hit > 0 ? ', cut' : ''}`
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
    expect([...outcomes.keys()].join(), 'no command was cut').toMatch(/: 1, cut/)
    if (process.env.SHOW_OUTCOMES) for (const outcome of [...outcomes].sort()) console.log(...outcome)
  } finally {
    await killer.end()
    await database.close()
  }
}

/** The next command, and whether its change is there. */
function callOf(round: number, sql: postgres.Sql): Call {
  const id = 1000 + round
  const exists = async (query: postgres.PendingQuery<postgres.Row[]>) => (await query).count > 0
  const calls: (() => Call)[] = [
    () => ({
      args: ['import', '-'],
      stdin: ndjsonOf(range(50, n => organization(100_000 + 50 * round + n))),
      isDone: () => exists(sql`select from organizations where id = ${100_000 + 50 * round + 1}`),
    }),
    () => ({
      args: ['integration', 'create', `Number ${id}`],
      isDone: () => exists(sql`select from integrations where name = ${`Number ${id}`}`),
    }),
    () => ({ args: ['refresh'] }),
    () => ({ args: ['doctor'] }),
    () => ({ args: ['migrate', '--time-zone', round % 2 === 0 ? 'Europe/Berlin' : 'UTC'] }),
    () => ({ args: ['integration', 'list'] }),
    () => ({
      args: ['erase', String(id), '--yes'],
      isDone: () => exists(sql`select from erasures where user_id = ${id}`),
    }),
    () => ({ args: ['disclosures', '--user', '501'] }),
    () => ({ args: ['config'] }),
  ]
  return (calls[round % calls.length] as () => Call)()
}
