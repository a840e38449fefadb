import { join } from 'node:path'
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
      const [first, again] = await loads(side, [side.file, side.file])
      const [, onTop] = await loads(side, [half, rest])
      const [alone] = await loads(side, [rest])
      const secondsOf = (ended: Ended | undefined) => ended?.seconds ?? Number.NaN
      return {
        'first load, assessments a second': side.options.records / secondsOf(first),
        'load of the same file again, s': secondsOf(again),
        'peak memory of a load, MB': Math.max(first?.peak ?? 0, again?.peak ?? 0),
        'load of the second half, s': secondsOf(onTop),
        'the same into an empty database, s': secondsOf(alone),
      }
    }
  },
}

/** Loads files one after the other into an empty database. */
const loads = (side: Side, files: string[]) =>
  side.onEmpty(async databaseUrl => {
    const all = []
    for (const file of files) all.push(await timedImport(side.executable, databaseUrl, file))
    return all
  })

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
