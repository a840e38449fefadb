import { join } from 'node:path'
import { axport, timedImport } from '../executable.ts'
import type { Measure } from '../measured-service.ts'
import type { Result } from '../results.ts'
import { compared, inTurns } from '../rounds.ts'
import type { World } from '../world.ts'

/** The import of the other assessments where some are stored, and of the same lines into an empty database. */
export const rest: Measure = {
  name: 'rest',
  async run(world) {
    const results: Result[] = []
    for (const percent of [14, 50]) results.push(await afterPart(world, percent))
    return results
  },
}

async function afterPart(
  { executable, options, source, folder, onEmpty }: World,
  percent: number,
): Promise<Result> {
  const result: Result = {
    measure: `import of the rest after ${percent} % ÷ import of the rest into an empty database`,
    unit: 's',
    beside: 'empty',
    reach: { of: 'ratio', atMost: 1.5 },
  }
  if (!source || !onEmpty)
    return { ...result, note: 'not measured: the benchmark did not start this Postgres' }
  const [part, others] = await split(source.file, percent / 100, folder)
  const lastOf = (files: string[]) => () =>
    onEmpty(async databaseUrl => {
      await axport(executable, ['migrate'], { DATABASE_URL: databaseUrl })
      let seconds = 0
      for (const file of files) ({ seconds } = await timedImport(executable, databaseUrl, file))
      return seconds
    })
  const times = await inTurns(Math.min(3, options.rounds), {
    after: lastOf([part, others]),
    empty: lastOf([others]),
  })
  return { ...result, ...compared(times.after, times.empty) }
}

/** Two files: the first assessments and the others, each with all that assessments refer to. */
async function split(file: string, share: number, folder: string): Promise<[part: string, others: string]> {
  const lines = (await Bun.file(file).text()).split('\n')
  const isAssessment = (line: string) => line.startsWith('{"type":"assessment"')
  const referenced = lines.filter(line => line !== '' && !isAssessment(line))
  const assessments = lines.filter(isAssessment)
  const cut = Math.round(share * assessments.length)
  const write = async (name: string, some: string[]) => {
    const path = join(folder, `${name}.ndjson`)
    await Bun.write(path, `${[...referenced, ...some].join('\n')}\n`)
    return path
  }
  return [await write('part', assessments.slice(0, cut)), await write('others', assessments.slice(cut))]
}
