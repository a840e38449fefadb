import { median, type Reach, type Result } from './results.ts'
import type { Deployment, World } from './world.ts'

/** What is measured in turns, by name. One that cannot be measured is undefined. */
type Contestants = Record<string, (() => Promise<number>) | undefined>

/** The figures of each contestant by round; undefined for a contestant that is undefined. */
type Figures<All extends Contestants> = { [Name in keyof All]: number[] | Extract<All[Name], undefined> }

/**
 * Measures all contestants in every round, and in reverse order in every second round. The other load of a machine
 * changes by the minute, and so affects all contestants alike. Ratios are taken within a round.
 */
export async function inTurns<All extends Contestants>(
  rounds: number,
  contestants: All,
): Promise<Figures<All>> {
  const measured = Object.entries(contestants).flatMap(([name, measure]) =>
    measure ? [{ name, measure, figures: [] as number[] }] : [],
  )
  for (let round = 0; round < rounds; round++) {
    for (const { measure, figures } of round % 2 === 0 ? measured : measured.toReversed()) {
      figures.push(await measure())
    }
  }
  return Object.fromEntries(measured.map(({ name, figures }) => [name, figures])) as Figures<All>
}

/** A figure of the present executable and, if there is one, of the earlier executable, as contestants. */
export function byBoth(world: World, figure: (deployment: Deployment) => Promise<number>) {
  const { before } = world
  return { present: () => figure(world), before: before && (() => figure(before)) }
}

/** The medians of a figure, of the limit, and of their ratio within each round. */
export interface Compared {
  figure: number
  limit?: number
  ratio?: number
  rounds: { figure: number; limit?: number }[]
}

/** The medians of figures and limits, and of their ratios by round. Without limits there is no ratio. */
export function compared(figures: number[], limits?: number[]): Compared {
  if (!limits) return { figure: median(figures), rounds: figures.map(figure => ({ figure })) }
  const rounds = figures.map((figure, at) => ({ figure, limit: limits[at] as number }))
  return {
    figure: median(figures),
    limit: median(limits),
    ratio: median(rounds.map(({ figure, limit }) => figure / limit)),
    rounds,
  }
}

/** Measures a figure and, if there is one, its limit, in turns. */
export async function compare(
  rounds: number,
  figure: () => Promise<number>,
  limit: (() => Promise<number>) | undefined,
): Promise<Compared> {
  const found = await inTurns(rounds, { figure, limit })
  return compared(found.figure, found.limit)
}

/** The line that compares figures of the present executable with those of the earlier one in the same rounds. */
export function besideBefore(
  measure: string,
  unit: string,
  present: number[],
  before: number[] | undefined,
  reach?: Reach,
): Result {
  return {
    measure: `${measure} ÷ the earlier executable`,
    ...(present.length > 0 && compared(present, before)),
    unit,
    beside: 'before',
    ...(reach && { reach }),
    ...(!before && { note: 'not compared: needs --before' }),
  }
}
