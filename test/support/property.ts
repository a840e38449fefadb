import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import fc from 'fast-check'
import { seed, thorough } from './tier.ts'

export interface Runs {
  /** The number of cases in the fast tier. */
  runs: number
  /** The number of cases under `CHECK=all`; default: `runs`. */
  thorough?: number
  /** The shares of cases that must get to points of the property. */
  floors?: Floors<string>
  /** False reports the first failure without shrinking it, for runs that are slow or not deterministic. */
  shrink?: boolean
}

/** A multiple of the number of cases, for a property that was changed. */
const TIMES = Number(process.env.RANDOM_TIMES || 1)

/** The path of one case of the seed, as fast-check prints it: only this case runs. */
const PATH = process.env.TEST_PATH

/**
 * Checks a property of fast-check. All properties of this project are checked by this function.
 *
 *     await holds(fc.property(fc.string(), text => ...), { runs: 200, thorough: 5000 })
 *
 * The number of cases depends on the tier alone, never on the clock, so a second run of the same seed tries the same
 * cases. Throws with the failed case and the command that repeats it.
 */
export async function holds<Ts>(property: fc.IRawProperty<Ts>, bounds: Runs): Promise<void> {
  const caller = callerOf(new Error())
  const { runs, floors, shrink = true } = bounds
  const numRuns = TIMES * (thorough ? (bounds.thorough ?? runs) : runs)
  const chosen = PATH ? { path: PATH, endOnFailure: true } : { numRuns, endOnFailure: !shrink }
  const details = await fc.check(property, { seed, ...chosen })
  if (details.failed) {
    const report = await fc.asyncDefaultReportMessage(details)
    const repeated = `To repeat this case: ${command(caller, details.counterexamplePath)}`
    throw new Error(`${repeated}\n${report}`, { cause: details.errorInstance })
  }
  if (PATH) return
  if (details.numRuns < numRuns)
    throw new Error(`the property ran ${details.numRuns} times instead of ${numRuns}`)
  floors?.check(numRuns)
}

/**
 * Counts how many cases of a property get to a point, for properties that end early for some of what they draw.
 *
 *     const floors = new Floors({ loaded: 0.3 })
 *     await holds(fc.asyncProperty(lines, async lines => { ...; floors.reached('loaded') }), { runs: 20, floors })
 */
export class Floors<Point extends string> {
  readonly #reached = new Map<Point, number>()
  readonly #least: Record<Point, number>

  /** `least` has the least share of the cases, from 0 to 1, for each point. */
  constructor(least: Record<Point, number>) {
    this.#least = least
  }

  /** A case has got to this point; to be called once a case at most. */
  reached(point: Point): void {
    this.#reached.set(point, (this.#reached.get(point) ?? 0) + 1)
  }

  /** @throws Error if too few of the cases got to a point */
  check(cases: number): void {
    for (const [point, least] of Object.entries<number>(this.#least)) {
      const count = this.#reached.get(point as Point) ?? 0
      if (count < least * cases)
        throw new Error(`${count} of ${cases} cases got to "${point}", and ${100 * least} % must`)
    }
  }
}

/** The place in a test file that a call came from. */
interface Place {
  file: string
  line: number
}

function callerOf({ stack = '' }: Error): Place | undefined {
  const [, file, line] = /\(?([^\s()]+\.test\.ts):(\d+)/.exec(stack) ?? []
  return file === undefined ? undefined : { file, line: Number(line) }
}

/** The command that runs one case of one property again. */
function command(caller: Place | undefined, path: string | null): string {
  const variables = [`TEST_SEED=${seed}`, `TEST_PATH=${path}`, ...(thorough ? ['CHECK=all'] : [])]
  if (!caller) return variables.join(' ')
  const file = relative(join(import.meta.dir, '..', '..'), caller.file)
  return [...variables, 'bun run test', file, ...titleAt(caller)].join(' ')
}

/** The option -t with the title of the test that has this line, if the title can be found. */
function titleAt({ file, line }: Place): string[] {
  const before = readFileSync(file, 'utf8').split('\n').slice(0, line).join('\n')
  const [, , title] = [...before.matchAll(/\btest\(\s*(['"`])(.+?)\1,/g)].at(-1) ?? []
  if (title === undefined) return []
  const pattern = title.replaceAll(/\$\{.*?\}|[^\w ,:;-]/g, '.')
  return [`-t '${pattern}'`]
}
