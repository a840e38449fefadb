/** How many of some things are allowed: a share of all of them, or a number. */
export type Limit = { percent: number } | { count: number }

/** Whether `some` of `all` are more than a limit allows. */
export function isBeyond(limit: Limit, some: number, all: number): boolean {
  return 'count' in limit ? some > limit.count : some * 100 > all * limit.percent
}

/** A limit as it was given: "25%", or "500". */
export function describeLimit(limit: Limit): string {
  return 'count' in limit ? String(limit.count) : `${limit.percent}%`
}
