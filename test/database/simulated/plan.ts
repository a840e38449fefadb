import fc from 'fast-check'
import type { Statement } from './process.ts'
import { type Chance, chanceFrom } from './time.ts'

/** The settings of the pool and of the servers. */
export interface Setting {
  size: number
  /** In milliseconds. */
  wait: number
  statement: number
  /** With two hosts, the second one is a standby. */
  hosts: 1 | 2
  isPooled: boolean
  wanted: 'any' | 'read-write'
}

/** The failures of a host that end after some time. */
const LASTING = ['shut', 'silent', 'forgetful', 'closing', 'full', 'starting', 'standby', 'deaf'] as const

/** The failures of a host, or of one connection, that happen once. */
const SUDDEN = ['cut one', 'forget one', 'conflict', 'restart', 'switchover'] as const

/** What a lease does after its first statement. */
export interface Further {
  statements: Statement[]
  isTransaction: boolean
  /** The milliseconds between an answer and the next statement; null if all are sent without awaiting between them. */
  pause: number | null
  /** Whether the work fails after its statements, before it ends its transaction. */
  failsItself: boolean
}

/** What a client asks for: one statement, or a lease of several. */
export interface Asking {
  lane: string
  statement: Statement
  further?: Further
  isForRequest: boolean
  hangsUpAfter: number | null
}

/** The next action, `after` milliseconds after the previous one. */
export type Action = { after: number } & (
  | ({ does: 'ask' } & Asking)
  | { does: 'trouble'; kind: (typeof LASTING)[number]; host: number; lasts: number }
  | { does: 'trouble'; kind: (typeof SUDDEN)[number]; host: number; which: number }
  /** The program is suspended and resumed. */
  | { does: 'stop'; lasts: number }
  | { does: 'displace'; lane: string }
  | { does: 'close' }
)

/** A schedule. Equal plans give equal events. */
export interface Plan {
  seed: number
  setting: Setting
  actions: Action[]
}

/**
 * Draws from one seed. Drawing every part of a plan with fast-check would take as long as running the plan.
 */
class Draw {
  readonly #chance: Chance

  constructor(seed: number) {
    this.#chance = chanceFrom(seed)
  }

  upTo(max: number): number {
    return Math.floor(this.#chance() * (max + 1))
  }

  oneOf<Value>(...values: [Value, ...Value[]]): Value {
    return values[this.upTo(values.length - 1)] as Value
  }

  /** True once in `times` draws, on average. */
  once(times: number): boolean {
    return this.#chance() < 1 / times
  }
}

const LANES = ['', 'a', 'b'] as const

/** Mostly short pauses; rarely so long that idle connections are tested before their use. */
function pause(draw: Draw): number {
  if (draw.once(100)) return 31_000
  if (draw.once(16)) return draw.upTo(4000)
  return draw.upTo(draw.oneOf(20, 20, 600))
}

function statement(draw: Draw): Statement {
  return {
    takes: draw.upTo(draw.oneOf(30, 30, 30, 2000, 6000)),
    ends: draw.once(8) ? draw.oneOf('wrong', 'deadlock', 'no-memory', 'disk-full') : 'rows',
    isWrite: draw.once(4),
    isTrickling: draw.once(8),
  }
}

/** A lease of several statements only reads. Its pauses may be longer than the server waits in a transaction. */
function further(draw: Draw): Further {
  return {
    statements: Array.from({ length: draw.upTo(2) }, () => ({ ...statement(draw), isWrite: false })),
    isTransaction: !draw.once(4),
    pause: draw.once(2) ? null : draw.upTo(draw.oneOf(10, 10, 300, 3000)),
    failsItself: draw.once(8),
  }
}

function ask(draw: Draw): Action {
  const isForRequest = !draw.once(6)
  const first = statement(draw)
  const isAlone = !isForRequest || draw.once(2)
  return {
    does: 'ask',
    after: pause(draw),
    lane: draw.oneOf(...LANES),
    ...(isAlone ? { statement: first } : { statement: { ...first, isWrite: false }, further: further(draw) }),
    isForRequest,
    hangsUpAfter: draw.once(3) ? draw.upTo(draw.oneOf(40, 3000)) : null,
  }
}

function trouble(draw: Draw): Action {
  const common = { does: 'trouble', after: pause(draw), host: draw.upTo(1) } as const
  return draw.once(2)
    ? { ...common, kind: draw.oneOf(...LASTING), lasts: draw.upTo(draw.oneOf(300, 300, 2000, 8000)) }
    : { ...common, kind: draw.oneOf(...SUDDEN), which: draw.upTo(3) }
}

function action(draw: Draw): Action {
  if (draw.once(4)) return trouble(draw)
  if (draw.once(25)) return { does: 'stop', after: pause(draw), lasts: draw.upTo(8000) }
  if (draw.once(15)) return { does: 'displace', after: pause(draw), lane: draw.oneOf(...LANES) }
  if (draw.once(30)) return { does: 'close', after: pause(draw) }
  return ask(draw)
}

function setting(draw: Draw): Setting {
  return {
    size: 1 + draw.upTo(3),
    wait: draw.oneOf(1000, 2000, 5000),
    statement: draw.oneOf(500, 1000, 3000),
    hosts: draw.oneOf(1, 2),
    isPooled: draw.once(5),
    wanted: draw.oneOf('any', 'read-write'),
  }
}

/** Plans of at most `most` actions. They shrink to plans with fewer actions. */
export class Plans extends fc.Arbitrary<Plan> {
  constructor(private readonly most: number) {
    super()
  }

  override generate(random: fc.Random): fc.Value<Plan> {
    const seed = random.nextInt(0, 2 ** 31 - 1)
    const draw = new Draw(seed)
    const actions = Array.from({ length: 1 + draw.upTo(this.most - 1) }, () => action(draw))
    return new fc.Value({ seed, setting: setting(draw), actions }, undefined)
  }

  override canShrinkWithoutContext(value: unknown): value is Plan {
    return typeof value === 'object'
  }

  /** Removes half of the actions, a quarter and so on, and finally single actions. */
  override shrink(plan: Plan): fc.Stream<fc.Value<Plan>> {
    return new fc.Stream(without(plan.actions)).map(actions => new fc.Value({ ...plan, actions }, undefined))
  }
}

function* without(actions: Action[]): IterableIterator<Action[]> {
  for (let length = Math.ceil(actions.length / 2); length >= 1; length = Math.floor(length / 2))
    for (let from = 0; from < actions.length; from += length) {
      const [next, ...rest] = actions.slice(from + length)
      // Later actions keep their times.
      const left = actions.slice(from, from + length).reduce((sum, { after }) => sum + after, 0)
      yield [...actions.slice(0, from), ...(next ? [{ ...next, after: next.after + left }] : []), ...rest]
    }
}
