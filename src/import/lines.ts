import { type ByteSource, readText } from './bytes.ts'

/** A line of the file, without its end; `text` is undefined where the line is longer than MAX_LINE. */
export interface Line {
  number: number
  text: string | undefined
}

/** Characters of one line. Far beyond any record; without a limit one missing line break would fill the memory. */
export const MAX_LINE = 1024 * 1024

/**
 * The lines of a plain or gzipped source, in batches as they arrive, blank ones left out but counted.
 * Reads no faster than the caller takes. `onBytes` is told the stored bytes read so far.
 * @throws Failure for text that is not UTF-8 or a damaged gzip, with its line
 */
export async function* readLines(
  source: ByteSource,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Line[]> {
  let number = 0
  let rest = ''
  let isTooLong = false
  const finish = (text: string): Line[] => {
    number += 1
    const line = { number, text: isTooLong || text.length > MAX_LINE ? undefined : text }
    isTooLong = false
    return line.text?.trim() === '' ? [] : [line]
  }

  for await (const text of readText(source, onBytes)) {
    const parts = text.split('\n')
    parts[0] = rest + parts[0]
    rest = parts.pop() as string
    yield parts.flatMap(finish)
    if (rest.length > MAX_LINE) {
      isTooLong = true
      rest = ''
    }
  }
  if (rest !== '' || isTooLong) yield finish(rest)
}
