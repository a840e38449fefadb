import { join } from 'node:path'
import postgres from 'postgres'
import { within } from '../../../src/timeouts.ts'
import { emptyFolder } from '../../support/executable.ts'
import { type Ended, timedImport } from '../program.ts'
import type { Side } from '../side.ts'
import type { Measure } from '../turns.ts'

/** The first load, a load of the same file again, and a load of one half on top of the other or into an empty database. */
export const load: Measure = {
  name: 'load',
  async prepare(side) {
    const [half, rest] = await halves(side.file)
    return async () => {
      const [[first], [again], waited] = await side.onEmpty(async databaseUrl => {
        const first = await loadAll(side, databaseUrl, [side.file])
        return [first, ...(await whileWriting(databaseUrl, loadAll(side, databaseUrl, [side.file])))] as const
      })
      const [, onTop] = await loads(side, [half, rest])
      const [alone] = await loads(side, [rest])
      const secondsOf = (ended: Ended | undefined) => ended?.seconds ?? Number.NaN
      return {
        'first load, assessments a second': side.options.records / secondsOf(first),
        'load of the same file again, s': secondsOf(again),
        'longest wait of a writer beside it, s': waited,
        'peak memory of a load, MB': Math.max(first?.peak ?? 0, again?.peak ?? 0),
        'load of the second half, s': secondsOf(onTop),
        'the same into an empty database, s': secondsOf(alone),
      }
    }
  },
}

/** Loads files one after the other into an empty database. */
const loads = (side: Side, files: string[]) => side.onEmpty(databaseUrl => loadAll(side, databaseUrl, files))

async function loadAll(side: Side, databaseUrl: string, files: string[]): Promise<Ended[]> {
  const all = []
  for (const file of files) all.push(await timedImport(side.executable, databaseUrl, file))
  return all
}

/** Writes ten times a second until `work` is done. Returns its result, and how long a writer waited at most, in seconds. */
async function whileWriting<Value>(databaseUrl: string, work: Promise<Value>): Promise<[Value, number]> {
  const writer = postgres(databaseUrl, { max: 1 })
  let isOver = false
  const ended = work.finally(() => {
    isOver = true
  })
  let longest = 0
  try {
    while (!isOver) {
      const start = performance.now()
      // Waits in the queue of writers, and changes nothing.
      await writer`update organizations set name = name where false`
      longest = Math.max(longest, performance.now() - start)
      await within(100, ended, undefined).catch(() => {})
    }
    return [await ended, longest / 1000]
  } finally {
    await writer.end()
  }
}

/** Two files: the first half of the assessments and the second, each with all that assessments refer to. */
async function halves(file: string): Promise<[half: string, rest: string]> {
  const lines = (await Bun.file(file).text()).split('\n')
  const isAssessment = (line: string) => line.startsWith('{"type":"assessment"')
  const referenced = lines.filter(line => line !== '' && !isAssessment(line))
  const assessments = lines.filter(isAssessment)
  const cut = assessments.length >> 1
  const write = async (some: string[]) => {
    const path = join(emptyFolder(), 'part.ndjson')
    await Bun.write(path, `${[...referenced, ...some].join('\n')}\n`)
    return path
  }
  return [await write(assessments.slice(0, cut)), await write(assessments.slice(cut))]
}
