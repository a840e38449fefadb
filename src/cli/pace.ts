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
