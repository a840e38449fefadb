import { setTimeout } from 'node:timers/promises'
import { terminated } from './process.ts'

/**
 * Repeats a round until SIGTERM or Ctrl-C: the next one begins `period` seconds after the start of the last, or at once if
 * that took longer. What a round throws ends the loop, and the service manager starts the command again. So no position is
 * kept here that a restart would lose.
 * @param round throws what ends the loop, also Interrupted at a signal
 */
export async function importEvery(period: number, round: () => Promise<void>): Promise<void> {
  const stop = new AbortController()
  void terminated().then(() => stop.abort())
  while (!stop.signal.aborted) {
    const start = performance.now()
    await round()
    const rest = Math.max(0, period * 1000 - (performance.now() - start))
    await setTimeout(rest, undefined, { signal: stop.signal }).catch(() => {})
  }
}

/** What the last round of a feed has noted. A bad row may stay for a week, and need not be named each minute. */
export class Noted {
  private last = new Set<string>()

  /** Those of the lines that the round before did not have. */
  newOf(lines: string[]): string[] {
    const before = this.last
    this.last = new Set(lines)
    return lines.filter(line => !before.has(line))
  }
}
