/** Writes to standard output and waits until it has been taken: a pipe may be slow. */
export async function print(text: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, error => (error ? reject(error) : resolve()))
  })
}

/** How often progress is told where no person is watching. */
const PLAIN_EVERY_MS = 5000

/**
 * What a command is at, on standard error: a line that replaces itself, or, where no person is watching, a
 * plain line every few seconds, for what takes so long.
 */
export class StatusLine {
  private readonly isWatched = process.stderr.isTTY === true
  private written = this.isWatched ? 0 : performance.now()
  private isShown = false

  /** Shows what \`text\` makes, at most ten times a second. */
  show(text: () => string): void {
    const now = performance.now()
    if (now - this.written < (this.isWatched ? 100 : PLAIN_EVERY_MS)) return
    this.written = now
    this.isShown = this.isWatched
    process.stderr.write(this.isWatched ? `\r\x1b[2K${text()}` : `${text()}\n`)
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

/** What a terminal would take for a command, or begin a line at, or turn the direction of writing by. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** A text of somebody else, as a name of the platform, on one line: what cannot be printed as \u{1b}. */
export function escaped(text: string): string {
  return text.replaceAll(UNPRINTABLE, character => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** Prints rows under a heading, columns aligned by display width, and each cell escaped. */
export async function printTable(heading: string[], rows: string[][]): Promise<void> {
  const lines = [heading, ...rows].map(row => row.map(escaped))
  const widths = heading.map((_, column) =>
    Math.max(...lines.map(line => Bun.stringWidth(line[column] ?? ''))),
  )
  const pad = (text: string, column: number) =>
    text + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(text))
  await print(lines.map(line => `${line.map(pad).join('  ').trimEnd()}\n`).join(''))
}
