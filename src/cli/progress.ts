/** Milliseconds between two lines of progress where standard error is no terminal. */
const PLAIN_INTERVAL_MS = 5000

/** Milliseconds between two updates of a line on a terminal. */
const TERMINAL_INTERVAL_MS = 100

/** The progress of a command on standard error: one line that replaces itself, or plain lines without a terminal. */
export class StatusLine {
  private readonly isTerminal = process.stderr.isTTY === true
  private writtenAt = this.isTerminal ? 0 : performance.now()
  private isShown = false
  private phase = ''
  private phaseStart = 0

  /** Shows a text, if the last one is old enough. */
  show(text: () => string): void {
    const now = performance.now()
    if (now - this.writtenAt < (this.isTerminal ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS)) return
    this.writtenAt = now
    this.isShown = this.isTerminal
    process.stderr.write(this.isTerminal ? `\r\x1b[2K${text()}` : `${text()}\n`)
  }

  /**
   * Shows "loading 25 % (5 of 20 rows, 10/s, 2 s left)". The rate is that of the phase.
   * @param options `skipped`: how many of `done` an earlier run has done; `counted`: what is counted where `done` and
   * `total` are bytes
   */
  showProgress(
    phase: string,
    done: number,
    total: number | undefined,
    unit: string,
    { skipped = 0, counted }: { skipped?: number; counted?: number } = {},
  ): void {
    const now = performance.now()
    if (phase !== this.phase) this.phaseStart = now
    this.phase = phase
    this.show(() => {
      const seconds = (now - this.phaseStart) / 1000
      const rate = seconds === 0 ? 0 : Math.round(((counted ?? done) - skipped) / seconds)
      const share = total === undefined ? '' : ` ${percent(done, total)} %`
      const all = counted ?? (total === undefined ? done : `${done} of ${total}`)
      const left = total === undefined ? '' : timeLeft(done - skipped, total - skipped, seconds)
      return `${phase}${share} (${all} ${unit}, ${rate}/s${left})`
    })
  }

  /** Writes a line that stays. */
  say(text: string): void {
    this.clear()
    process.stderr.write(`${text}\n`)
  }

  clear(): void {
    if (this.isShown) process.stderr.write('\r\x1b[2K')
    this.isShown = false
  }
}

const percent = (part: number, whole: number) => (whole === 0 ? 100 : Math.floor((100 * part) / whole))

/** ", 12 s left", at the rate so far; "" as long as there is none. */
function timeLeft(part: number, whole: number, seconds: number): string {
  if (part === 0 || seconds === 0) return ''
  const left = Math.ceil((seconds * (whole - part)) / part)
  return left < 60 ? `, ${left} s left` : `, ${Math.ceil(left / 60)} min left`
}
