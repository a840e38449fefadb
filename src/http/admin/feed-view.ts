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
  /** Rows that were left out and wait. */
  rejected: number
  /** The next round reads from the same time again, because of a bad row without an id. */
  isHeld: boolean
}

/** Readiness and metrics of a process that repeats an import. */
export class FeedView implements AdminView {
  private state: 'running' | 'stopping' = 'running'
  private lastSuccess: number | undefined
  /** Rounds that have failed since the last one that was loaded; undefined before the first. */
  private failures: number | undefined
  /** A round was not loaded because it would have removed too much, and none has been loaded since. */
  private isRefused = false
  private rejected = 0
  private isHeld = false
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
    { name: 'rejects', run: async () => this.leftOut(), goesOn: () => 'the other rows are loaded' },
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
    this.rows = new Counter(
      of('rows_total', 'Rows that rounds have read, unchanged and waiting ones among them.'),
    )
    this.seconds = new Gauge(of('round_seconds', 'Seconds that the last round took which was loaded.'))
    const state = (name: string, help: string, read: () => number) =>
      new Gauge({
        ...of(name, help),
        collect() {
          this.set({ feed }, read())
        },
      })
    state(
      'failed_rounds',
      'Rounds that have failed since the last one that was loaded, or since the start.',
      () => this.failures ?? 0,
    )
    state('removals_refused', '1 from a round that --max-removed refused until one is loaded, or 0.', () =>
      Number(this.isRefused),
    )
    state('rejected_rows', 'Rows that the last loaded round left out by --rejects.', () => this.rejected)
    state(
      'position_held',
      '1 while a bad row without an id makes each round read from the same time, or 0.',
      () => Number(this.isHeld),
    )
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

  loaded({ at, seconds, rows, rejected, isHeld }: Loaded): void {
    const { feed } = this
    this.lastSuccess = at
    this.failures = 0
    this.isRefused = false
    this.rejected = rejected
    this.isHeld = isHeld
    this.rounds.inc({ feed, outcome: 'loaded' })
    this.rows.inc({ feed }, rows)
    this.seconds.set({ feed }, seconds)
  }

  /** @param isRefused because it would have removed more than --max-removed allows */
  failed(isRefused: boolean): void {
    this.failures = (this.failures ?? 0) + 1
    this.isRefused ||= isRefused
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
    if (this.isRefused)
      return 'a round would have removed more than --max-removed allows; the log says how to load it once'
    const rounds = this.failures === 1 ? 'the last round' : `the last ${this.failures} rounds`
    return `${rounds} failed; the log says why`
  }

  private leftOut(): string | undefined {
    if (this.isHeld) return 'a bad row without an id makes each round read from the same time again'
    if (this.rejected > 0)
      return `${this.rejected} rejected ${this.rejected === 1 ? 'row waits' : 'rows wait'}`
    return undefined
  }
}
