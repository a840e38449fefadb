import type { PullProgress } from '../../pull/job.ts'
import { StatusLine } from '../output.ts'
import { percent, perSecond, timeLeft } from '../pace.ts'

/** Tells on standard error how far a pull is, how fast it goes and how long it will take. */
export class PullStatus {
  private readonly line = new StatusLine()
  private last: PullProgress | undefined
  private phaseStart = 0

  /** @param isStream whether the output is one, of which nothing can be kept for another run */
  constructor(private readonly isStream: boolean) {}

  show(progress: PullProgress): void {
    const now = performance.now()
    // The first answer is what a pace can be measured from; it has come at once when a run goes on.
    if (progress.phase !== this.last?.phase) this.phaseStart = now
    this.last = progress
    this.line.show(() => describe(progress, (now - this.phaseStart) / 1000))
  }

  pause(reason: string, milliseconds: number): void {
    this.line.show(() => `${reason}; trying again in ${Math.ceil(milliseconds / 1000)} s …`)
  }

  note(text: string): void {
    this.line.say(`note: ${text}`)
  }

  /** Records that the next run need not read again, if this one ends now; as many as there are where it is unknown. */
  get kept(): number {
    if (this.isStream || !this.last) return 0
    return this.last.phase === 'pulling' ? this.last.done : this.last.total
  }

  /** What Ctrl-C leaves behind, in words. */
  interrupted(): string {
    if (this.isStream) return 'interrupted: what was written is not all'
    if (this.kept === 0) return 'interrupted: nothing is kept'
    const kept =
      this.last?.phase === 'resuming'
        ? 'what an earlier run has read is'
        : `${this.kept} of ${this.last?.total} assessments are`
    return `interrupted; ${kept} kept: run the same command again to go on`
  }

  end(): void {
    this.line.clear()
  }
}

/** @param seconds since the phase began */
function describe(progress: PullProgress, seconds: number): string {
  const { phase, done, total } = progress
  const before = phase === 'pulling' ? progress.resumed : 0
  const pace = `${perSecond(done - before, seconds)} assessments/s${timeLeft(done - before, total - before, seconds)}`
  return `${phase} ${percent(done, total)} (${done} of ${total}, ${pace})`
}
