import type { Served } from '../support/served.ts'
import { until } from '../support/until.ts'

/** The samples of /metrics: the name with its labels, and the number. */
export async function metrics({ admin }: Served): Promise<Map<string, number>> {
  const text = await (await fetch(`${admin}/metrics`)).text()
  const samples = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(samples.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

/** The same, once the data was read in time: on a busy machine a scrape may be without it. */
export async function dataMetrics(running: Served): Promise<Map<string, number>> {
  return await until('the metrics have the data', async () => {
    const found = await metrics(running)
    return [...found.keys()].some(name => name.startsWith('axport_schema_info')) && found
  })
}
