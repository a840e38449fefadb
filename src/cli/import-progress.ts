import type { Progress } from '../import/import.ts'
import { StatusLine } from './output.ts'
import { percent, perSecond, timeLeft } from './pace.ts'

/** After so long without a sign from the database somebody should be told why nothing happens. */
const SILENCE_MS = 2000

/** Tells on standard error how far an import is, how fast it goes and how long it will take. */
export class ImportProgress {
  private readonly status = new StatusLine()
  private readonly silence = setTimeout(
    () => this.status.say('waiting for the database, which is busy with another command …'),
    SILENCE_MS,
  )
  private phase = ''
  private phaseStart = 0
  /** All has been loaded for good. */
  isLoaded = false

  show(progress: Progress): void {
    clearTimeout(this.silence)
    const now = performance.now()
    if (progress.phase !== this.phase) this.phaseStart = now
    this.phase = progress.phase
    if (progress.phase === 'tidying') this.isLoaded = true
    if (progress.phase === 'waiting') this.status.say('waiting for another import to finish …')
    else this.status.show(() => describe(progress, (now - this.phaseStart) / 1000))
  }

  end(): void {
    clearTimeout(this.silence)
    this.status.clear()
  }
}

/** @param seconds since the phase began */
function describe(progress: Progress, seconds: number): string {
  switch (progress.phase) {
    case 'reading': {
      const { bytes, size, lines } = progress
      const rate = `${perSecond(lines, seconds)} lines/s`
      if (size === undefined) return `reading (${lines} lines, ${rate})`
      return `reading ${percent(bytes, size)} (${lines} lines, ${rate}${timeLeft(bytes, size, seconds)})`
    }
    case 'loading':
    case 'rendering': {
      const { phase, done, total } = progress
      const rate = `${perSecond(done, seconds)} assessments/s`
      return `${phase} ${percent(done, total)} (${done} of ${total}, ${rate}${timeLeft(done, total, seconds)})`
    }
    case 'checking':
      return 'checking …'
    case 'indexing':
      return 'building indexes …'
    default:
      return 'loaded, gathering statistics …'
  }
}
