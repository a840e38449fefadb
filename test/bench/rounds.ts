import { median } from './results.ts'

/**
 * Measures all contestants in every round, and in reverse order in every second round. The other load of a machine
 * changes by the minute, and so affects all contestants alike. Ratios are taken within a round.
 */
export async function inTurns<Name extends string>(
  rounds: number,
  contestants: Record<Name, () => Promise<number>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(contestants) as Name[]
  const figures = Object.fromEntries(names.map(name => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      figures[name].push(await contestants[name]())
    }
  }
  return figures
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
  if (!limit) return compared((await inTurns(rounds, { figure })).figure)
  const found = await inTurns(rounds, { figure, limit })
  return compared(found.figure, found.limit)
}
