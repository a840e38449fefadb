import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Build } from './source-metrics.ts'

/** Milliseconds between two looks at the event loop. */
const RESOLUTION = 20

/** What this process is and uses. Half of the library's own set describes another runtime's heap, and is empty here. */
export function addProcessMetrics(build: Build, registry: Registry): void {
  const of = (name: string, help: string) => ({ name, help, registers: [registry] })
  new Gauge({
    ...of('axport_build_info', 'What runs here; always 1.'),
    labelNames: ['version', 'commit', 'bun'],
    aggregator: 'first',
  }).set({ ...build, bun: Bun.version }, 1)
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION })
  delay.enable()
  new Gauge({
    ...of(
      'axport_event_loop_lag_seconds',
      'How late timers fired since the last look, by percentile; every request waits as long.',
    ),
    // A label of the name quantile would be a summary's.
    labelNames: ['percentile'],
    aggregator: 'max',
    collect() {
      this.set({ percentile: '50' }, delay.percentile(50) / 1e9)
      this.set({ percentile: '99' }, delay.percentile(99) / 1e9)
      this.set({ percentile: '100' }, delay.max / 1e9)
      delay.reset()
    },
  })
  new Gauge({
    ...of('process_resident_memory_bytes', 'Resident memory.'),
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  new Counter({
    ...of('process_cpu_seconds_total', 'User and system CPU time.'),
    collect() {
      const { user, system } = process.cpuUsage()
      this.reset()
      this.inc((user + system) / 1e6)
    },
  })
  new Gauge({
    ...of('process_start_time_seconds', 'Start of the process, in Unix time.'),
    aggregator: 'min',
  }).set(Math.round(performance.timeOrigin / 1000))
}
