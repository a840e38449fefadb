import { join } from 'node:path'
import { emptyFolder } from '../../support/executable.ts'
import { timedImport } from '../program.ts'
import type { Side } from '../side.ts'
import type { Figures, Measure } from '../turns.ts'

/** Percentages that are loaded before the rest. */
const PARTS = [14, 50]

/** The first load, a load of the same file again, and a load of the rest on top of a part or into an empty database. */
export const load: Measure = {
  name: 'load',
  async prepare(side) {
    const halves = new Map<number, [part: string, rest: string]>()
    for (const percent of PARTS) halves.set(percent, await split(side.file, percent / 100))
    return async () => {
      const figures: Figures = {}
      const [first, again] = await loads(side, [side.file, side.file])
      figures['first load, assessments a second'] = side.options.records / (first?.seconds ?? Number.NaN)
      figures['load of the same file again, s'] = again?.seconds ?? Number.NaN
      figures['peak memory of a load, MB'] = Math.max(first?.peak ?? 0, again?.peak ?? 0)
      for (const [percent, [part, rest]] of halves) {
        const [, onTop] = await loads(side, [part, rest])
        const [alone] = await loads(side, [rest])
        figures[`load of the rest after ${percent} %, s`] = onTop?.seconds ?? Number.NaN
        figures[`the same into an empty database (${percent} %), s`] = alone?.seconds ?? Number.NaN
      }
      return figures
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

/** Two files: the first assessments and the others, each with all that assessments refer to. */
async function split(file: string, share: number): Promise<[part: string, rest: string]> {
  const lines = (await Bun.file(file).text()).split('\n')
  const isAssessment = (line: string) => line.startsWith('{"type":"assessment"')
  const referenced = lines.filter(line => line !== '' && !isAssessment(line))
  const assessments = lines.filter(isAssessment)
  const cut = Math.round(share * assessments.length)
  const write = async (some: string[]) => {
    const path = join(emptyFolder(), 'part.ndjson')
    await Bun.write(path, `${[...referenced, ...some].join('\n')}\n`)
    return path
  }
  return [await write(assessments.slice(0, cut)), await write(assessments.slice(cut))]
}
