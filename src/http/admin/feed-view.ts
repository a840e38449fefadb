import { Counter, Gauge, Registry } from 'prom-client'
import { addProcessMetrics, type Build } from './metrics.ts'
import { type Check, type Readiness, readinessOf } from './readiness.ts'
import type { AdminView } from './server.ts'

/** A round of a feed that was loaded. */
interface Loaded {
  /** When it ended, in Unix seconds. */
  at: number
  seconds: number
  rows: number
}

/** Readiness and metrics of a process that repeats an import. */
export class FeedView implements AdminView {
  private state: 'running' | 'stopping' = 'running'
  private lastSuccess: number | undefined
  /** Rounds that have failed since the last one that was loaded; undefined before the first. */
  private failures: number | undefined
  private readonly registry = new Registry()
  private readonly rounds: Counter
  private readonly rows: Counter
  private readonly seconds: Gauge
  private readonly checks: Check[] = [
    {
      name: 'service',
      run: async () => (this.state === 'running' ? undefined : `it is ${this.state}`),
    },
    { name: 'feed', run: async () => this.trouble() },
  ]

  constructor(
    private readonly feed: string,
    build: Build,
  ) {
    const of = (name: string, help: string) => ({
      name: `axport_feed_${name}`,
      help,
      labelNames: ['feed'],
      registers: [this.registry],
    })
    this.rounds = new Counter({
      ...of('rounds_total', 'Rounds of the feed, by what came of them.'),
      labelNames: ['feed', 'outcome'],
    })
    for (const outcome of ['loaded', 'failed']) this.rounds.inc({ feed, outcome }, 0)
    this.rows = new Counter(of('rows_total', 'Rows that rounds have read, unchanged ones among them.'))
    this.seconds = new Gauge(of('round_seconds', 'Seconds that the last round took which was loaded.'))
    const lastSuccess = () => this.lastSuccess
    new Gauge({
      ...of('last_success_timestamp_seconds', 'When a round was last loaded. Absent before the first.'),
      collect() {
        const at = lastSuccess()
        if (at !== undefined) this.set({ feed }, at)
      },
    })
    addProcessMetrics(build, this.registry)
  }

  /** The last success of an earlier process counts until a round of this one is loaded. */
  remembers(at: number): void {
    this.lastSuccess ??= at
  }

  loaded({ at, seconds, rows }: Loaded): void {
    const { feed } = this
    this.lastSuccess = at
    this.failures = 0
    this.rounds.inc({ feed, outcome: 'loaded' })
    this.rows.inc({ feed }, rows)
    this.seconds.set({ feed }, seconds)
  }

  failed(): void {
    this.failures = (this.failures ?? 0) + 1
    this.rounds.inc({ feed: this.feed, outcome: 'failed' })
  }

  stopping(): void {
    this.state = 'stopping'
  }

  async readiness(): Promise<Readiness> {
    return await readinessOf(this.checks)
  }

  async metrics(): Promise<string> {
    return await this.registry.metrics()
  }

  /** Without the reason, which is in the log and may contain names. */
  private trouble(): string | undefined {
    if (this.failures === undefined) return 'the first round goes on'
    if (this.failures === 0) return undefined
    const rounds = this.failures === 1 ? 'the last round' : `the last ${this.failures} rounds`
    return `${rounds} failed; the log says why`
  }
}
