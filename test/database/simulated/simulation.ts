import { CANCELLED, RECOVERY } from './observer.ts'
import type { Action, Plan } from './plan.ts'
import type { Question } from './questions.ts'
import { begin, endAll } from './troubles.ts'
import { CLOSING, World } from './world.ts'

/** Failures after which a server process no longer exists or has another role. */
const RESTARTS = new Set<string>(['shut', 'closing', 'starting', 'restart'])

const LANES = ['', 'a', 'b']

/** Runs a plan against a pool. */
export class Simulation {
  readonly #world: World

  /** @param trace is called with a line for each event */
  constructor(
    private readonly plan: Plan,
    trace?: string[],
  ) {
    this.#world = new World(plan, trace)
  }

  /** @returns the first fault; undefined if there is none */
  run(): string | undefined {
    const { stackTraceLimit } = Error
    // Errors are frequent here, and their stacks are not used.
    Error.stackTraceLimit = 0
    try {
      return this.#run()
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
  }

  #run(): string | undefined {
    const { observer, time } = this.#world
    let at = 0
    let end = 0
    for (const action of this.plan.actions) {
      at += action.after
      end = Math.max(end, at + ('lasts' in action ? action.lasts : 0))
      const isOutside = action.does === 'trouble' || action.does === 'stop'
      time.add(isOutside ? 'outside' : 'read', at, () => this.#do(action))
    }
    // Events may be late by some milliseconds.
    this.#world.goOn(time.now() + end + 10)
    this.#world.finish()
    if (!observer.isClosed) this.#expectRecovery()
    if (!observer.isClosed) this.#world.close()
    // A connection that is being opened may need this time before it is closed.
    this.#world.goOn(time.now() + CLOSING + this.plan.setting.wait)
    if (observer.held > 0) observer.wrong(`a closed pool has ${observer.held} connections`)
    if (time.armed > 0) observer.wrong(`a closed pool has ${time.armed} timers`)
    return observer.fault
  }

  #do(action: Action): void {
    const observer = this.#world.observer
    switch (action.does) {
      case 'ask':
        this.#world.ask(action)
        return
      case 'trouble':
        observer.note(`${action.kind}: ${'lasts' in action ? `${action.lasts} ms` : action.which}`)
        observer.lost += action.kind === 'cut one' ? 1 : this.plan.setting.size + 1
        observer.trouble(this.#endOf(action))
        begin(action, this.#world.hosts)
        return
      case 'stop':
        observer.stopped(action.lasts)
        this.#world.time.stop(action.lasts)
        return
      case 'displace':
        this.#world.displace(action.lane)
        return
      case 'close':
        if (!observer.isClosed) this.#world.close()
    }
  }

  /** The time until which a failure that begins now has effects, if the pool recovers as it should. */
  #endOf(trouble: Extract<Action, { does: 'trouble' }>): number {
    const now = this.#world.time.now()
    // Connections lead to a server that has another role from now on.
    if (trouble.kind === 'switchover') return Number.POSITIVE_INFINITY
    if (!('lasts' in trouble)) return now
    // What was being opened when the network dropped messages must time out first.
    const late = trouble.kind === 'forgetful' ? this.plan.setting.wait : 0
    return now + trouble.lasts + late
  }

  /** Runs `count` statements concurrently. */
  #ask(count: number): Question[] {
    const { questions } = this.#world.observer
    const before = questions.length
    const isWrite = this.plan.setting.wanted === 'read-write'
    for (let place = 0; place < count; place++) {
      const statement = { takes: 5, ends: 'rows', isWrite, isTrickling: false } as const
      const lane = LANES[place % 3] as string
      const second = { ...statement, isWrite: false }
      const further = { statements: [second], isTransaction: !isWrite, pause: 1, failsItself: false }
      this.#world.ask({ lane, statement, further, isForRequest: true, hangsUpAfter: null })
    }
    this.#world.finish()
    return questions.slice(before)
  }

  /** Checks that a working database is found, and that every connection can be used. */
  #expectRecovery(): void {
    const observer = this.#world.observer
    const { hosts, isPooled, size, statement, wait } = this.plan.setting
    endAll(this.#world.hosts)
    // Connections that were being opened while the network dropped messages must time out first, and cancel requests
    // that no server accepted: meanwhile nobody gets their connections.
    const kinds = this.plan.actions.map(action => ('kind' in action ? action.kind : ''))
    const hasForgotten = kinds.some(kind => kind.startsWith('forget'))
    const longest = Math.max(hasForgotten ? wait : 0, kinds.includes('deaf') ? CANCELLED : 0)
    this.#world.goOn(this.#world.time.now() + RECOVERY + longest)
    // A silently dropped connection costs a statement if it cannot be detected: a pooler hides the server's
    // processes, the probe reaches another server, or a statement times out before it has been silent for
    // long enough.
    const mayRestart = this.plan.actions.some(action => 'kind' in action && RESTARTS.has(action.kind))
    if (isPooled || hosts > 1 || mayRestart || statement < wait / 5) this.#ask(size)
    for (const { id, outcome } of [...this.#ask(1), ...this.#ask(size + 1)])
      if (outcome && 'error' in outcome) observer.wrong(`${id} fails although all is well: ${outcome.error}`)
    this.#world.goOn(this.#world.time.now() + CLOSING)
    const { inUse, waiting } = this.#world.database.pool.stats()
    if (inUse + waiting > 0) observer.wrong(`${inUse} in use and ${waiting} waiting when all is over`)
  }
}
