import { expect } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import { sampleNdjson } from '../../../../src/sample/generate.ts'
import { axport, emptyFolder, start } from '../../../support/executable.ts'
import { staleRecords } from '../../../support/import.ts'
import { seed } from '../../../support/tier.ts'

/** A database that imports go to. `look` opens it for as long as `work` takes. */
export interface Target {
  url: string
  look<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
}

/** One state of the data out of a series: whose names end in " v7", and which assessments there are. */
interface Revision {
  number: number
  file: string
  /** In ascending order. */
  ids: number[]
  users: number
}

/** Which revision is there, whole; undefined where there is nothing at all. Fails on anything in between. */
type State = number | undefined

/**
 * Imports one revision after the other, each killed by kill -9 at a random moment and then repeated. Whatever
 * the moment, the data are the former or the new ones, whole, and the read model is what its source says.
 * Every other round begins with empty tables, which are loaded in another way.
 */
export async function killImports(target: Target, assessments: number, rounds: number): Promise<void> {
  const folder = emptyFolder()
  const lines = [...sampleNdjson({ assessments })].join('').trimEnd().split('\n')
  const revision = (number: number) => writeRevision(lines, number, join(folder, `${number}.ndjson`))
  const fromEmpty = await importWhole(target, revision(-1))
  let current = revision(0)
  const fromOther = await importWhole(target, current)
  // An import spends its first tenth on its own start.
  const moments = fc.sample(fc.double({ min: 0.1, max: 1, noNaN: true }), { numRuns: rounds, seed })
  const outcomes: string[] = []
  for (const [index, moment] of moments.entries()) {
    const next = revision(index + 1)
    const isEmpty = index % 2 === 1
    if (isEmpty) await target.look(empty)
    const after = Math.round(moment * (isEmpty ? fromEmpty : fromOther))
    const wasKilled = await importAndKill(target, next, after)
    const former = isEmpty ? undefined : current.number
    const state = await target.look(sql => wholeState(sql, [current, next]))
    expect([former, next.number], `round ${index}; TEST_SEED=${seed} repeats the moments`).toContain(state)
    outcomes.push(`${wasKilled ? 'killed' : 'done'} at ${after}: ${state === former ? 'former' : 'new'}`)
    await importWhole(target, next)
    expect(await target.look(sql => wholeState(sql, [next]))).toBe(next.number)
    current = next
  }
  // Otherwise nothing was shown.
  expect(outcomes.join()).toMatch(/killed at \d+: former/)
}

/** All users are renamed and every seventh assessment is gone, other ones with each number. */
function writeRevision(lines: string[], number: number, file: string): Revision {
  const ids: number[] = []
  let users = 0
  const changed = lines.map(line => {
    const record = JSON.parse(line) as { type: string; id: number; name?: string }
    if (record.type === 'user') {
      users++
      return JSON.stringify({ ...record, name: `${record.name} v${number}` })
    }
    if (record.type !== 'assessment') return line
    if ((record.id + number) % 7 === 0) return `{"type":"assessment","id":${record.id},"deleted":true}`
    ids.push(record.id)
    return line
  })
  writeFileSync(file, `${changed.join('\n')}\n`)
  return { number, file, ids: ids.sort((a, b) => a - b), users }
}

/** Milliseconds that it took. */
async function importWhole({ url }: Target, { file }: Revision): Promise<number> {
  const began = performance.now()
  const { code, stderr } = await axport(['import', file], { env: { DATABASE_URL: url }, patience: 300_000 })
  expect(code, stderr).toBe(0)
  return Math.round(performance.now() - began)
}

/** Whether it was still running. */
async function importAndKill({ url }: Target, { file }: Revision, milliseconds: number): Promise<boolean> {
  const importing = await start(['import', file], { env: { DATABASE_URL: url } })
  await Promise.race([Bun.sleep(milliseconds), importing.finished])
  const wasRunning = importing.exitCode() === undefined
  importing.signal('SIGKILL')
  await importing.finished
  return wasRunning
}

async function empty(sql: Sql): Promise<void> {
  await sql`truncate organizations, products, users, assessments, assessment_parts`
}

async function wholeState(sql: Sql, possible: Revision[]): Promise<State> {
  expect(await staleRecords(sql)).toEqual([])
  // A load into empty tables does without triggers and indexes for a while.
  expect(await sql`select tgname from pg_trigger where tgenabled = 'D'`).toHaveLength(0)
  expect(await sql`select indexrelid::regclass from pg_index where not indisvalid`).toHaveLength(0)
  const versions = await sql<{ number: number; users: number }[]>`
    select substring(name from ' v([0-9]+)$')::int as number, count(*)::int as users from users group by 1`
  const rows = await sql<{ id: string }[]>`select id from assessments order by id`
  const ids = rows.map(row => Number(row.id))
  const [version, ...others] = versions
  expect(others).toEqual([])
  if (!version) {
    expect(ids).toEqual([])
    return undefined
  }
  const revision = possible.find(({ number }) => number === version.number)
  expect(version.users).toBe(revision?.users as number)
  const [found, expected] = [new Set(ids), new Set(revision?.ids)]
  const lost = expected.difference(found).size
  expect({ lost, left: found.difference(expected).size }).toEqual({ lost: 0, left: 0 })
  return version.number
}
