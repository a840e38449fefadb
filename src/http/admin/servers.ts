import { Counter, Gauge, type Registry } from 'prom-client'
import type { ServerView, Standbys } from '../../postgres/standby/standbys.ts'

/** Adds the metrics of standbys. A service without standbys has no such metrics. */
export function addServerMetrics(standbys: Standbys, registry: Registry): void {
  const of = (name: string, help: string) => ({ name: `axport_${name}`, help, registers: [registry] })
  const gauge = (name: string, help: string, measure: (view: ServerView) => number | undefined) =>
    new Gauge({
      ...of(name, help),
      labelNames: ['server'],
      collect() {
        this.reset()
        for (const view of standbys.servers()) {
          const value = measure(view)
          if (value !== undefined) this.set({ server: view.server }, value)
        }
      },
    })
  gauge('server_serves', 'Whether pages and records are read there: 1 or 0.', ({ serves }) => Number(serves))
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
    ...standbys.all.map(({ name, reads }): [string, number] => [name, reads]),
    ['primary', standbys.primaryReads],
  ])
  counter(
    'reads_moved_total',
    'Requests that another server answered after a standby, by the reason.',
    'reason',
    () => [
      ['unknown_token', standbys.moved.unknownToken],
      ['older_data', standbys.moved.olderData],
      ['trouble', standbys.moved.trouble],
    ],
  )
}
