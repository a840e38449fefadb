import { axport, timedImport } from '../executable.ts'
import type { Measure } from '../measured-service.ts'
import type { Result } from '../results.ts'
import { compared, inTurns } from '../rounds.ts'
import type { World } from '../world.ts'

/** The import of the data, an import of the same file again, and its import by the earlier executable. */
export const importing: Measure = {
  name: 'import',
  async run(world) {
    const { executable, databaseUrl, records, source } = world
    if (!source)
      return [{ measure: 'import', unit: '/s', note: 'not measured: the database already had the data' }]
    const again = await timedImport(executable, databaseUrl, source.file)
    return [
      {
        measure: 'import into an empty database',
        figure: records / source.seconds,
        unit: '/s',
        reach: { of: 'value', atLeast: 15_000 },
        note: `${source.seconds.toFixed(1)} s`,
      },
      {
        measure: 'first import ÷ import of the same file again',
        figure: source.seconds,
        limit: again.seconds,
        ratio: source.seconds / again.seconds,
        unit: 's',
        beside: 'again',
        reach: { of: 'ratio', atLeast: 3 },
      },
      {
        measure: 'peak memory of the process, import',
        figure: Math.max(source.peak, again.peak),
        unit: 'MB',
        reach: { of: 'value', atMost: 300 },
      },
      await againstBefore(world, source.file),
    ]
  },
}

/** Imports the same file into an empty database by this executable and by the earlier one, in turns. */
async function againstBefore(
  { executable, before, options, records, onEmpty }: World,
  file: string,
): Promise<Result> {
  const result: Result = {
    measure: 'import into an empty database ÷ import by the earlier executable',
    unit: '/s',
    beside: 'before',
    reach: { of: 'ratio', atLeast: 1.4 },
    note: 'aim: 2',
  }
  if (!before || !onEmpty) return { ...result, note: 'not measured: needs --before' }
  const rate = (program: string) => () =>
    onEmpty(async databaseUrl => {
      await axport(program, ['migrate'], { DATABASE_URL: databaseUrl })
      return records / (await timedImport(program, databaseUrl, file)).seconds
    })
  const rates = await inTurns(Math.min(3, options.rounds), {
    ours: rate(executable),
    theirs: rate(before.executable),
  })
  return { ...result, ...compared(rates.ours, rates.theirs) }
}
