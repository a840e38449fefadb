import { readFileSync } from 'node:fs'
import { Failure } from '../errors.ts'
import { exactJson } from '../integrations/exact-ids.ts'
import { whyUnwritable } from '../output-path.ts'

/** Standard output cannot be written. */
export class OutputFailure extends Failure {
  /** @param code of the system, as ENOSPC */
  constructor(readonly code: string) {
    super(`standard output cannot be written: ${whyUnwritable(code)}`)
  }
}

/** Writes to standard output, at the pace of a pipe. @throws OutputFailure */
export async function print(text: string | Uint8Array): Promise<void> {
  if (isMissing()) throw new OutputFailure('EBADF')
  // The callback gets each error, and without a listener the event would end the process.
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, cause => {
      if (cause) reject(new OutputFailure((cause as { code?: string }).code ?? cause.name))
      else resolve()
    })
  })
}

/** The flag of a descriptor that a program has not inherited (fcntl.h). */
const O_CLOEXEC = 0o2000000

/** Whether the process was started without a standard output, as by `>&-`. Bun opens /dev/null in its place then. */
function isMissing(): boolean {
  try {
    const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/1', 'utf8')) ?? []
    return (Number.parseInt(flags, 8) & O_CLOEXEC) !== 0
  } catch {
    return false
  }
}

/** Whether print() failed because the reader has closed the pipe, as head does. */
export const isClosed = (error: unknown): boolean => error instanceof OutputFailure && error.code === 'EPIPE'

/**
 * Waits for the report of what was done. If standard output cannot be written, the error says what was done.
 * @param done as "the integration was created"; undefined if nothing was
 */
export async function reportOf(done: string | undefined, report: Promise<void>): Promise<void> {
  await report.catch(error => {
    throw error instanceof OutputFailure && done !== undefined
      ? new Failure(`${done}, but ${error.message}`)
      : error
  })
}

/** Prints one line of JSON, in which a bigint is the number it is. */
export const printJson = (value: unknown): Promise<void> => print(`${exactJson(value)}\n`)

/** "1 part", "2 parts". */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Control characters, line separators and changes of the writing direction. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** A text from the database, such as a name, on one line: unprintable characters become \u{1b}. */
export function escaped(text: string): string {
  return text.replaceAll(UNPRINTABLE, character => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** Prints rows under a heading. */
export const printTable = (heading: string[], rows: string[][]): Promise<void> =>
  print(tableOf(heading, rows))

/** Lines of rows under a heading. Columns are aligned by display width, and each cell is escaped. */
export function tableOf(heading: string[], rows: string[][]): string {
  const lines = [heading, ...rows].map(row => row.map(escaped))
  // Not Math.max(...): a call has no room for a million arguments.
  const widths = heading.map((_, at) =>
    lines.reduce((widest, line) => Math.max(widest, Bun.stringWidth(line[at] ?? '')), 0),
  )
  const pad = (text: string, at: number) => text + ' '.repeat((widths[at] ?? 0) - Bun.stringWidth(text))
  return lines.map(line => `${line.map(pad).join('  ').trimEnd()}\n`).join('')
}

/** A line for each text of each label, escaped; the label stands before its first text. */
export function fieldLines(fields: [label: string, texts: string | string[]][], width = 15): string {
  return fields
    .flatMap(([label, texts]) => [texts].flat().map((text, at) => [at === 0 ? label : '', text] as const))
    .map(([label, text]) => `${label.padEnd(width)}${escaped(text)}\n`)
    .join('')
}

/** The progress of a command on standard error: one line that replaces itself, or plain lines without a terminal. */
export class StatusLine {
  private readonly isTerminal = process.stderr.isTTY === true
  private writtenAt = this.isTerminal ? 0 : performance.now()
  private phase = ''
  private phaseStart = 0

  /** Shows a text, if the last one is old enough. */
  show(text: () => string): void {
    const now = performance.now()
    if (now - this.writtenAt < (this.isTerminal ? 100 : 5000)) return
    this.writtenAt = now
    process.stderr.write(this.isTerminal ? `\r\x1b[2K${text()}` : `${text()}\n`)
  }

  /**
   * Shows "loading 25 % (5 of 20 rows, 10/s, 2 s left)", with the rate of the phase. `counted` is what is counted
   * where `done` and `total` are bytes.
   */
  showProgress(phase: string, done: number, total: number | undefined, unit: string, counted?: number): void {
    const now = performance.now()
    if (phase !== this.phase) this.phaseStart = now
    this.phase = phase
    this.show(() => {
      const seconds = (now - this.phaseStart) / 1000
      const rate = seconds === 0 ? 0 : Math.round((counted ?? done) / seconds)
      const share = total === undefined ? '' : ` ${total === 0 ? 100 : Math.floor((100 * done) / total)} %`
      const all = counted ?? (total === undefined ? done : `${done} of ${total}`)
      const left = total === undefined ? '' : timeLeft(done, total, seconds)
      return `${phase}${share} (${all} ${unit}, ${rate}/s${left})`
    })
  }

  /** Writes a line that stays. */
  say(text: string): void {
    this.clear()
    process.stderr.write(`${text}\n`)
  }

  [Symbol.dispose](): void {
    this.clear()
  }

  clear(): void {
    if (this.isTerminal) process.stderr.write('\r\x1b[2K')
  }
}

/** ", 12 s left", at the rate so far; "" as long as there is none. */
function timeLeft(part: number, whole: number, seconds: number): string {
  if (part === 0 || seconds === 0) return ''
  const left = Math.ceil((seconds * (whole - part)) / part)
  return left < 60 ? `, ${left} s left` : `, ${Math.ceil(left / 60)} min left`
}
