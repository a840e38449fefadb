import type { Side } from './side.ts'

/** The figures of one round by name. A name says the unit: "first pages a second". */
export type Figures = Record<string, number>

/** A measure. `prepare` prepares a side, and returns what measures it once. */
export interface Measure {
  name: string
  prepare(side: Side): Promise<() => Promise<Figures>>
}

/** The medians of one figure, and of the ratio within each round. */
export interface Result {
  measure: string
  present: number
  before?: number
  ratio?: number
  /** The figures of each round: of the present executable, and of the other one. */
  rounds: number[][]
}

/**
 * Measures all sides in every round, and in reverse order in every second round. The other load of a machine changes by
 * the minute, and so affects all sides alike. Returns the figures of each side by round.
 */
export async function inTurns(rounds: number, sides: (() => Promise<Figures>)[]): Promise<Figures[][]> {
  const measured = sides.map(measure => ({ measure, figures: [] as Figures[] }))
  for (let round = 0; round < rounds; round++) {
    for (const { measure, figures } of round % 2 === 0 ? measured : measured.toReversed())
      figures.push(await measure())
  }
  return measured.map(({ figures }) => figures)
}

/** The result of each figure. Without a second side there is no ratio. */
export function resultsOf([present = [], before]: Figures[][]): Result[] {
  return Object.keys(present[0] ?? {}).map(measure => {
    const pick = (figures: Figures[]) => figures.map(figure => figure[measure] ?? Number.NaN)
    const ours = pick(present)
    if (!before) return { measure, present: median(ours), rounds: ours.map(figure => [figure]) }
    const theirs = pick(before)
    const rounds = ours.map((figure, at) => [figure, theirs[at] ?? Number.NaN])
    const ratio = median(rounds.map(([one = Number.NaN, other = Number.NaN]) => one / other))
    return { measure, present: median(ours), before: median(theirs), ratio, rounds }
  })
}

/** The median of figures. */
export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}
