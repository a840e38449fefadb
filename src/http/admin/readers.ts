import { Counter, Gauge, type Registry } from 'prom-client'
import type { ServingDatabase } from '../../postgres/pool/serving-database.ts'
import type { Reader, Replicas } from '../../postgres/standby/replicas.ts'
import { readDisclosing } from '../../tables/disclosing.ts'
import { shared } from '../../within.ts'
import { type Check, unlessBusy } from './readiness.ts'

/** The readers of several processes as one list: the longest lag, and every reason. */
export function mergedReaders(lists: Reader[][]): Reader[] {
  const all = lists.flat()
  return [...new Set(all.map(({ server }) => server))].map(server => {
    const same = all.filter(reader => reader.server === server)
    const lags = same.flatMap(({ lag }) => lag ?? [])
    const whys = [...new Set(same.flatMap(({ why }) => why ?? []))]
    return {
      server,
      serves: same.some(({ serves }) => serves),
      ...(lags.length > 0 && { lag: Math.max(...lags) }),
      ...(whys.length > 0 && { why: whys.join('; ') }),
    }
  })
}

/** Adds the metrics of standbys. A service without standbys has no such metrics. */
export function addReaderMetrics(replicas: Replicas, registry: Registry): void {
  const of = (name: string, help: string) => ({ name: `axport_${name}`, help, registers: [registry] })
  const gauge = (name: string, help: string, measure: (reader: Reader) => number | undefined) =>
    new Gauge({
      ...of(name, help),
      labelNames: ['server'],
      aggregator: 'max',
      collect() {
        this.reset()
        for (const reader of replicas.readers()) {
          const value = measure(reader)
          if (value !== undefined) this.set({ server: reader.server }, value)
        }
      },
    })
  gauge('reader_serves', 'Whether pages and records are read there: 1 or 0.', ({ serves }) => Number(serves))
  gauge(
    'standby_lag_seconds',
    'How far a standby is behind. Absent while that is not known.',
    ({ lag }) => lag,
  )
  const counter = (name: string, help: string, label: string, counts: () => [string, number][]) =>
    new Counter({
      ...of(name, help),
      labelNames: [label],
      collect() {
        this.reset()
        for (const [value, count] of counts()) this.inc({ [label]: value }, count)
      },
    })
  counter('reads_total', 'Pages and records, by the server that gave them.', 'server', () => [
    ...replicas.standbys.map(({ name, reads }): [string, number] => [name, reads]),
    ['primary', replicas.primaryReads],
  ])
  counter('reads_moved_total', 'Requests that a standby could not answer, by the reason.', 'reason', () => [
    ['unknown_token', replicas.moved.unknownToken],
    ['trouble', replicas.moved.trouble],
  ])
}

/**
 * The check of the primary, without which standbys go on unless disclosures have to be recorded at it.
 * @param wasRecording whether disclosures were recorded when the service was opened
 */
export function primaryCheck(pool: ServingDatabase, replicas: Replicas, wasRecording: boolean): Check {
  let isRecording = wasRecording
  const readRecording = unlessBusy(pool, async () => {
    isRecording = (await readDisclosing(pool))?.isOn === true
    return undefined
  })
  return {
    name: 'database',
    run: shared(async () => {
      const trouble = await pool.trouble()
      // A schema without the row is reported by the check after this one.
      if (trouble === undefined) await readRecording().catch(() => {})
      return trouble
    }),
    goesOn: () =>
      !isRecording && replicas.readers().some(({ server, serves }) => serves && server !== 'primary')
        ? 'standbys answer the tokens that they know, and no new ones are issued'
        : undefined,
  }
}
