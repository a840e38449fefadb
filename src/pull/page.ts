import {
  compact,
  decoded,
  endOfValue,
  NotCompact,
  parseJson,
  readItems,
  readMembers,
  UnexpectedJson,
} from './json.ts'
import { readRecords } from './record.ts'

/** A page of the list (spec 4.2). */
export interface Page {
  /** Spec 2.3: all records that match, the offset and the page size as the service understood them. */
  count: number
  offset: number
  page: number
  ids: bigint[]
  /** The records, a line each: the bytes as they were sent. */
  lines: Uint8Array
  /** Where in `lines` each record begins. */
  starts: number[]
}

const NEWLINE = 0x0a

/** A page whose lines nobody has looked into. */
type Cut = Omit<Page, 'ids'>

/**
 * Reads the body of a page. Its bytes become the lines: the comma behind each record turns into a line break,
 * and nothing is copied. JSON with white space in it is squeezed before. Then every line is parsed.
 * @throws UnexpectedJson when it is no page, or a line is no record of the contract
 */
export function readPage(body: Uint8Array): Page {
  const page = cutAtSeams(body) ?? cutAnywhere(body)
  return { ...page, ids: readRecords(page.lines).map(({ id }) => BigInt(id)) }
}

function cutAnywhere(body: Uint8Array): Cut {
  try {
    return cut(body)
  } catch (error) {
    if (!(error instanceof NotCompact)) throw error
    return cut(compact(body))
  }
}

const HEAD = '{"data":[{"id":'
/** The end of a record, whose results come last and are never empty, and the beginning of the next one. */
const SEAM = Buffer.from('}]},{"id":')
/** The end of the last record, and what follows it. */
const TAIL = /}\]}\],"meta":\{"count":(\d{1,15}),"offset":(\d{1,15}),"page":(\d{1,15})\}\}$/
const LONGEST_TAIL = 100

/**
 * The same for pages as our service writes them, twenty times as fast: where records meet is found by the
 * engine's search for bytes. A seam has quotes that nothing escapes, so in valid JSON it is never within a string.
 * It could be within a record, between the elements of an array: then there are more seams than the page can
 * have records, and it is none of ours. Undefined where anything is not as it is in ours; `body` is as it was.
 */
function cutAtSeams(body: Uint8Array): Cut | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (bytes.toString('latin1', 0, HEAD.length) !== HEAD) return undefined
  const tail = TAIL.exec(bytes.toString('latin1', Math.max(0, bytes.length - LONGEST_TAIL)))
  if (!tail || bytes.includes(NEWLINE)) return undefined
  const [count = 0, offset = 0, page = 0] = tail.slice(1).map(Number)
  const bounds: number[] = []
  let start = HEAD.length - '{"id":'.length
  for (let at = bytes.indexOf(SEAM); at >= 0; at = bytes.indexOf(SEAM, at + SEAM.length)) {
    bounds.push(start, at + 3)
    start = at + 4
  }
  bounds.push(start, bytes.length - tail[0].length + '}]}'.length)
  if (bounds.length !== 2 * Math.min(page, count - offset)) return undefined
  return { count, offset, page, ...lined(body, bounds) }
}

function cut(body: Uint8Array): Cut {
  const bounds: number[] = []
  let meta: unknown
  let hasData = false
  const end = readMembers(body, 0, (name, start) => {
    if (name === 'data') {
      hasData = true
      return readItems(body, start, record => {
        const end = endOfValue(body, record)
        bounds.push(record, end)
        return end
      })
    }
    const end = endOfValue(body, start)
    if (name === 'meta') meta = parseJson(decoded(body.subarray(start, end)))
    return end
  })
  if (end !== body.length) throw new UnexpectedJson('it goes on behind its end')
  if (!hasData) throw new UnexpectedJson('data is missing')
  const { count, offset, page } = (meta ?? {}) as Record<string, unknown>
  if (!isCount(count) || !isCount(offset) || !isCount(page)) throw new UnexpectedJson('meta is missing')
  return { count, offset, page, ...lined(body, bounds) }
}

/** Compact JSON has exactly one byte between two records. */
function lined(body: Uint8Array, bounds: number[]): Pick<Page, 'lines' | 'starts'> {
  const first = bounds[0] ?? 0
  const starts: number[] = []
  for (let at = 0; at < bounds.length; at += 2) {
    starts.push((bounds[at] as number) - first)
    body[bounds[at + 1] as number] = NEWLINE
  }
  return { lines: body.subarray(first, bounds.length === 0 ? first : (bounds.at(-1) as number) + 1), starts }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
