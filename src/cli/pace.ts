/** How fast something goes and how long it will take, in words. */

/** Whole things a second. */
export function perSecond(count: number, seconds: number): number {
  return seconds === 0 ? 0 : Math.round(count / seconds)
}

/** ", 12 s left", by the pace so far; nothing while there is none. */
export function timeLeft(part: number, whole: number, seconds: number): string {
  if (part === 0 || seconds === 0) return ''
  const left = Math.ceil((seconds * (whole - part)) / part)
  return left < 60 ? `, ${left} s left` : `, ${Math.ceil(left / 60)} min left`
}

/** "12 %", rounded down; all, where there is nothing to do. */
export function percent(part: number, whole: number): string {
  return `${whole === 0 ? 100 : Math.floor((100 * part) / whole)} %`
}

/** Seconds: the pause after the first failure, and what bounds the longest one. */
const FIRST_PAUSE = 1
const LEAST_CAP = 10
const LARGEST_CAP = 300

/**
 * Seconds until the next round of something that is repeated: what is left of its period; after failures 1, 2, 4, …, up
 * to the period, but for less than 10 or more than 300.
 * @param taken seconds since the round before has begun
 */
export function pauseAfter(failures: number, period: number, taken: number): number {
  if (failures === 0) return Math.max(0, period - taken)
  const cap = Math.min(Math.max(period, LEAST_CAP), LARGEST_CAP)
  return Math.min(FIRST_PAUSE * 2 ** Math.min(failures - 1, 20), cap)
}
