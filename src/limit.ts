/** The most that may be left out or removed: a share of all, or a number. */
export type Limit = { percent: number } | { count: number }

/** Whether `some` of `all` exceed a limit. */
export const exceeds = (limit: Limit, some: number, all: number): boolean =>
  'count' in limit ? some > limit.count : some * 100 > all * limit.percent
