/**
 * Finds its way through JSON text without making values of it, to copy records byte for byte. It does not look at
 * what it steps over: parseJson() tells whether that is JSON.
 */

/** The text is not the JSON that was looked for. */
export class UnexpectedJson extends Error {}

/** There is white space between the values: these functions read compact JSON. */
export class NotCompact extends UnexpectedJson {}

/** Neither forgives bytes that are no UTF-8 nor drops a byte order mark, which is no JSON. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Sixteen digits on: beyond the whole numbers that are exact in JavaScript. */
const LARGE_NUMBER = /[:[,]-?\d{16}/

type Reviver = Parameters<typeof JSON.parse>[1]

/** @throws UnexpectedJson where bytes are no UTF-8 */
export function decoded(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new UnexpectedJson('it is no UTF-8')
  }
}

/**
 * The value of a JSON text; whole numbers beyond 2^53 are bigints.
 * @throws UnexpectedJson, which quotes nothing of the text
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, LARGE_NUMBER.test(text) ? (exactly as Reviver) : undefined)
  } catch {
    throw new UnexpectedJson('it is no JSON')
  }
}

function exactly(_: string, value: unknown, { source }: { source: string }): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^\d+$/.test(source)
    ? BigInt(source)
    : value
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const COMMA = 0x2c
const COLON = 0x3a
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The index behind the value that begins at `at`. */
export function endOfValue(bytes: Uint8Array, at: number): number {
  let depth = 0
  for (;;) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = endOfString(bytes, at)
      if (depth === 0) return at
      continue
    }
    if (byte === undefined) throw new UnexpectedJson('it ends too early')
    if (byte <= SPACE) throw new NotCompact('white space')
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      // A number, true, false or null ends where what it stands in goes on.
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (byte === COMMA && depth === 0) return at
    at++
  }
}

function endOfString(bytes: Uint8Array, at: number): number {
  for (;;) {
    const byte = bytes[++at]
    if (byte === QUOTE) return at + 1
    if (byte === BACKSLASH) at++
    else if (byte === undefined || byte < SPACE) throw new UnexpectedJson('a string does not end')
  }
}

/**
 * Goes through the object that begins at `at`. `read` gets each name and where its value begins, and returns
 * where that ends, or undefined to look no further. Returns the index behind the object.
 */
export function readMembers(
  bytes: Uint8Array,
  at: number,
  read: (name: string, start: number) => number | undefined,
): number | undefined {
  if (bytes[at] !== OPEN_OBJECT) throw unexpected(bytes, at, 'an object')
  if (bytes[at + 1] === CLOSE_OBJECT) return at + 2
  for (;;) {
    if (bytes[at + 1] !== QUOTE) throw unexpected(bytes, at + 1, 'a name')
    const colon = endOfString(bytes, at + 1)
    if (bytes[colon] !== COLON) throw unexpected(bytes, colon, 'a colon')
    const end = read(textOf(bytes, at + 2, colon - 1), colon + 1)
    if (end === undefined) return undefined
    if (bytes[end] === CLOSE_OBJECT) return end + 1
    if (bytes[end] !== COMMA) throw unexpected(bytes, end, 'a comma')
    at = end
  }
}

/** Goes through the array that begins at `at`: `read` as above. Returns the index behind the array. */
export function readItems(bytes: Uint8Array, at: number, read: (start: number) => number): number {
  if (bytes[at] !== OPEN_LIST) throw unexpected(bytes, at, 'an array')
  if (bytes[at + 1] === CLOSE_LIST) return at + 2
  for (;;) {
    const end = read(at + 1)
    if (bytes[end] === CLOSE_LIST) return end + 1
    if (bytes[end] !== COMMA) throw unexpected(bytes, end, 'a comma')
    at = end
  }
}

/** The bytes from `start` to `end` as text, every byte a character: for ASCII. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at] as number)
  return text
}

/** The same JSON without the white space between its values. */
export function compact(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const squeezed = new Uint8Array(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; ) {
    const end = bytes[at] === QUOTE ? endOfString(bytes, at) : at + 1
    if ((bytes[at] as number) > SPACE) {
      squeezed.set(bytes.subarray(at, end), length)
      length += end - at
    }
    at = end
  }
  return squeezed.subarray(0, length)
}

function unexpected(bytes: Uint8Array, at: number, wanted: string): UnexpectedJson {
  const byte = bytes[at]
  if (byte !== undefined && byte <= SPACE) return new NotCompact('white space')
  return new UnexpectedJson(`${wanted} is missing at byte ${at}`)
}
