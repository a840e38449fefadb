import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Build } from './source-metrics.ts'

/** Milliseconds between two looks at the event loop. */
const RESOLUTION = 20

/**
 * What this process is and uses. Not the library's own set: half of that describes another runtime's heap,
 * and is empty here.
 */
export function addProcessMetrics(build: Build, registry: Registry): void {
  const registers = [registry]
  new Gauge({
    name: 'axport_build_info',
    help: 'What runs here; always 1.',
    labelNames: ['version', 'commit', 'bun'],
    aggregator: 'first',
    registers,
  }).set({ ...build, bun: Bun.version }, 1)
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION })
  delay.enable()
  new Gauge({
    name: 'axport_event_loop_lag_seconds',
    help: 'How late timers fired since the last look, by quantile; every request waits as long.',
    labelNames: ['quantile'],
    aggregator: 'max',
    registers,
    collect() {
      this.set({ quantile: '0.5' }, delay.percentile(50) / 1e9)
      this.set({ quantile: '0.99' }, delay.percentile(99) / 1e9)
      this.set({ quantile: '1' }, delay.max / 1e9)
      delay.reset()
    },
  })
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage()
      this.reset()
      this.inc((user + system) / 1e6)
    },
  })
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start of the process, in Unix time.',
    aggregator: 'min',
    registers,
  }).set(Math.round(performance.timeOrigin / 1000))
}
