/** Writes to standard output and waits until it has been taken: a pipe may be slow. */
export async function print(text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, error => (error ? reject(error) : resolve()))
  })
}

/** A line on standard error that replaces itself; nothing at all where no person is watching. */
export class StatusLine {
  private readonly isWatched = process.stderr.isTTY === true
  private written = 0

  /** Shows `text`, at most ten times a second. */
  show(text: string): void {
    const now = performance.now()
    if (!this.isWatched || now - this.written < 100) return
    this.written = now
    process.stderr.write(`\r\x1b[2K${text}`)
  }

  clear(): void {
    if (this.isWatched && this.written > 0) process.stderr.write('\r\x1b[2K')
  }
}

/** Prints rows under a heading, columns aligned by display width. */
export async function printTable(heading: string[], rows: string[][]): Promise<void> {
  const widths = heading.map((_, column) =>
    Math.max(...[heading, ...rows].map(row => Bun.stringWidth(row[column] ?? ''))),
  )
  const pad = (text: string, column: number) =>
    text + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(text))
  const lines = [heading, ...rows].map(row => row.map(pad).join('  ').trimEnd())
  await print(`${lines.join('\n')}\n`)
}
