import { join } from 'node:path'
import { axport, timedImport, writeSample } from '../executable.ts'
import { runLoad } from '../job.ts'
import type { Measure } from '../measured-service.ts'
import { filtered } from '../paths.ts'
import type { Result } from '../results.ts'
import { compared } from '../rounds.ts'
import { authorize, FIRST_PAGE, startService } from '../service.ts'
import { createIntegration } from '../world.ts'

const MOST = 10_000

/** The number of integrations for warm-up: the very first one, and one that uses prepared statements. */
const WARM = 2

/** The embedded database with ten thousand assessments: the first page of new integrations. */
export const embedded: Measure = {
  name: 'embedded',
  async run({ executable, folder, options }) {
    const DATABASE_URL = `embedded:${join(folder, 'embedded')}`
    const records = Math.min(MOST, options.records)
    await axport(executable, ['migrate'], { DATABASE_URL })
    const sample = await writeSample(executable, records, folder)
    const imported = await timedImport(executable, DATABASE_URL, sample)
    const ids = (type: string, text: string) =>
      [...text.matchAll(new RegExp(`"type":"${type}","id":(\\d+)`, 'g'))].map(([, id]) => id as string)
    const head = await Bun.file(sample).slice(0, 100_000).text()
    const organizations = ids('organization', head)
    const products = ids('product', head)
    const service = await startService(executable, DATABASE_URL)
    try {
      const fresh: number[] = []
      const known: number[] = []
      for (let round = 0; round < options.rounds + WARM; round++) {
        // Each scope leaves out another product, so that page memory has nothing about the scope.
        const scope = { organizations, products: products.filter((_, at) => at !== round % products.length) }
        const credentials = await createIntegration({ executable, databaseUrl: DATABASE_URL }, scope)
        const headers = await authorize(service.url, credentials)
        // The first request makes the token known, which the measured requests must not include.
        const paths = [filtered('filter[user_ids][]', 1), FIRST_PAGE, FIRST_PAGE]
        const { latencies } = await runLoad({ url: service.url, connections: 1, headers, paths })
        fresh.push(latencies[1] ?? Number.NaN)
        known.push(latencies[2] ?? Number.NaN)
      }
      const result = (what: string, times: number[]): Result => ({
        measure: `embedded, ${records.toLocaleString('en-US')}: first page, ${what}`,
        ...compared(times.slice(WARM)),
        unit: 'ms',
        reach: { of: 'value', atMost: 25 },
      })
      const rate = Math.round(records / imported.seconds)
      return [
        {
          ...result('with count', fresh),
          note: `the first request: ${fresh[0]?.toFixed(0)} ms; imported at ${rate}/s`,
        },
        result('with a known count', known),
      ]
    } finally {
      await service.stop()
    }
  },
}
