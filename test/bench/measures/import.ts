import { timedImport } from '../executable.ts'
import type { Measure } from '../stage.ts'

/** How the data came in, and how the same file does once more. */
export const importing: Measure = {
  name: 'import',
  async run({ executable, databaseUrl, records, source }) {
    if (!source) return [{ measure: 'import', unit: '/s', note: 'not measured: the data was there' }]
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
        measure: 'first import ÷ the same file once more',
        figure: source.seconds,
        limit: again.seconds,
        ratio: source.seconds / again.seconds,
        unit: 's',
        beside: 'once more',
        reach: { of: 'ratio', atLeast: 3 },
      },
      {
        measure: 'process memory at most, import',
        figure: Math.max(source.peak, again.peak),
        unit: 'MB',
        reach: { of: 'value', atMost: 300 },
      },
    ]
  },
}
