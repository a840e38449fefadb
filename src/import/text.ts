import { isUtf8 } from 'node:buffer'
import { Failure } from '../errors.ts'
import { type ByteSource, begun, inflated } from './bytes.ts'

/** Characters of one line or CSV row. Without a limit, one missing line break would fill the memory. */
export const MAX_LINE = 1024 * 1024

/** What ends a line: people join files of several systems. */
export const LINE_BREAK = /\r\n|\r|\n/

/** Why a line that begins with this character is bad. readText() takes the one at the beginning of a source away. */
export const BYTE_ORDER_MARK = '\ufeff'
export const HAS_MARK = 'begins with a byte order mark: remove the first three bytes of the line'

/** What readText() reports while it reads. */
export interface OnText {
  bytes: (bytes: number) => void
  /** The source is gzip data in several members, see inflated(). */
  members: () => void
}

/** The text of a plain or gzipped source without its byte order mark. Throws a Failure with the number of a bad line. */
export async function* readText(
  { name = 'the data', chunks }: ByteSource,
  on: OnText,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const failure = (line: number, reason: string) => new Failure(`${name} line ${line}: ${reason}`)
  let line = 1
  // A character has four bytes at most: an incomplete one is in the last three.
  let tail: Uint8Array = new Uint8Array()
  const decode = (chunk?: Uint8Array) => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw failure(line + breaksBeforeBad(tail, chunk), NO_UTF8)
    }
  }
  const bytes = inflated(name, counted(chunks, on.bytes), on.members)
  try {
    const { start, all } = await begun(bytes)
    if (isUtf16(start)) throw failure(1, 'the text is UTF-16: save it as UTF-8')
    for await (const chunk of all) {
      yield decode(chunk)
      line += breaksIn(chunk, tail.at(-1))
      tail = Buffer.concat([tail, chunk.subarray(-3)]).subarray(-3)
    }
    yield decode()
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!code.startsWith('Z_')) throw error
    throw failure(line, `the gzip data is damaged or cut short (${message}): fetch or make the file again`)
  } finally {
    bytes.return(undefined).catch(() => {})
  }
}

/** UTF-16 begins with a byte order mark, or with a character of ASCII, which has a zero byte before or after it. */
function isUtf16([first, second]: Uint8Array): boolean {
  if (second === undefined) return false
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || !first || !second
}

/** A text that is cut inside a character, and one in another encoding, may have the same bytes. */
const NO_UTF8 =
  'a character is not UTF-8: correct the text of this line; or if the whole file is in another encoding, as Windows-1252, save it as UTF-8'

/** The line breaks between `tail` and the first line that is not UTF-8. */
function breaksBeforeBad(tail: Uint8Array, chunk: Uint8Array = new Uint8Array()): number {
  // The tail may begin in the middle of a character that was decoded.
  const begin = tail.findIndex(byte => (byte & 0xc0) !== 0x80)
  const bytes = Buffer.concat([tail.subarray(begin === -1 ? tail.length : begin), chunk])
  // A line break is never a part of another character.
  const lines = bytes.toString('latin1').split(LINE_BREAK)
  return lines.findIndex(line => !isUtf8(Buffer.from(line, 'latin1'))) - breaksIn(tail)
}

/** @param before the byte before: a CRLF may be cut in two, and counts as one at its CR */
function breaksIn(bytes: Uint8Array, before?: number): number {
  let breaks = before === 0x0d && bytes[0] === 0x0a ? -1 : 0
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) breaks += 1
  for (let at = bytes.indexOf(0x0d); at !== -1; at = bytes.indexOf(0x0d, at + 1))
    if (bytes[at + 1] !== 0x0a) breaks += 1
  return breaks
}

async function* counted(chunks: AsyncIterable<Uint8Array>, onBytes: (bytes: number) => void) {
  for await (const chunk of chunks) {
    onBytes(chunk.byteLength)
    yield chunk
  }
}
