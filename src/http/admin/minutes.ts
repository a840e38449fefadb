/** The requests that were answered in a minute, by what came of them. */
export interface Minute {
  /** Minutes since 1970. */
  minute: number
  answered: number
  /** 4xx. */
  refused: number
  /** 5xx. */
  failed: number
}

/** Minutes that are remembered, the present one included. */
export const REMEMBERED = 60

const now = () => Math.floor(Date.now() / 60_000)

/** Counts requests by minute for the last hour, in memory. */
export class Minutes {
  #minutes: Minute[] = []

  note(status: number, minute = now()): void {
    let last = this.#minutes.at(-1)
    if (last?.minute !== minute) {
      last = { minute, answered: 0, refused: 0, failed: 0 }
      this.#minutes = [...this.#minutes, last].slice(-REMEMBERED)
    }
    last[status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'answered']++
  }

  /** Those with requests, the oldest first; some may be older than an hour. */
  list(): Minute[] {
    return this.#minutes
  }
}

/** The last hour of several processes, each minute once, the oldest first. */
export function lastHour(lists: Minute[][], present = now()): Minute[] {
  const all = Map.groupBy(lists.flat(), ({ minute }) => minute)
  return Array.from({ length: REMEMBERED }, (_, at) => {
    const minute = present - REMEMBERED + 1 + at
    const sum = (key: keyof Minute) => (all.get(minute) ?? []).reduce((sum, counts) => sum + counts[key], 0)
    return { minute, answered: sum('answered'), refused: sum('refused'), failed: sum('failed') }
  })
}
