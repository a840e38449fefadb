import { open } from 'node:fs/promises'

const CHUNK = 1024 * 1024
const NEWLINE = 0x0a

/**
 * The lines of a file, many at a time: each chunk ends with a line break. An unfinished last line is left out.
 * The chunks are new memory each.
 */
export async function* wholeLines(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path)
  try {
    let rest = new Uint8Array()
    for (;;) {
      const buffer = Buffer.allocUnsafeSlow(rest.length + CHUNK)
      buffer.set(rest)
      const { bytesRead } = await file.read(buffer, rest.length, CHUNK)
      if (bytesRead === 0) return
      const length = rest.length + bytesRead
      const end = buffer.lastIndexOf(NEWLINE, length - 1) + 1
      rest = buffer.subarray(end, length)
      if (end > 0) yield buffer.subarray(0, end)
    }
  } finally {
    await file.close()
  }
}
