import { exactJson } from '../integrations/exact-ids.ts'

/** Writes to standard output, and waits until a slow pipe has taken it. */
export async function print(text: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(text, error => (error ? reject(error) : resolve()))
  })
}

/** Prints one line of JSON, in which a bigint is the number it is. */
export async function printJson(value: unknown): Promise<void> {
  await print(`${exactJson(value)}\n`)
}

/** "1 part", "2 parts". */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Control characters, line separators and changes of the writing direction. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** A text from the database, such as a name, on one line: unprintable characters become \u{1b}. */
export function escaped(text: string): string {
  return text.replaceAll(UNPRINTABLE, character => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** Prints rows under a heading. Columns are aligned by display width, and each cell is escaped. */
export async function printTable(heading: string[], rows: string[][]): Promise<void> {
  const lines = [heading, ...rows].map(row => row.map(escaped))
  const widths = heading.map((_, column) =>
    Math.max(...lines.map(line => Bun.stringWidth(line[column] ?? ''))),
  )
  const pad = (text: string, column: number) =>
    text + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(text))
  await print(lines.map(line => `${line.map(pad).join('  ').trimEnd()}\n`).join(''))
}

/** A line for each text of each label, escaped; the label stands before its first text. */
export function fieldLines(fields: [label: string, texts: string | string[]][], width = 15): string {
  return fields
    .flatMap(([label, texts]) => [texts].flat().map((text, at) => [at === 0 ? label : '', text] as const))
    .map(([label, text]) => `${label.padEnd(width)}${escaped(text)}\n`)
    .join('')
}
