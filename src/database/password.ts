import { isUtf8 } from 'node:buffer'
import {
  LEFT_TO_RIGHT,
  NOTHING,
  PROHIBITED,
  type Ranges,
  RIGHT_TO_LEFT,
  SPACES,
  UNASSIGNED,
} from './unicode-3.2.ts'

/** How a server asks for the password. */
export type Method = 'cleartext' | 'md5' | 'scram-sha-256'

/**
 * The option `password` of postgres.js: the bytes that libpq sends or digests. They are prepared for SCRAM alone. Only its
 * patched version (patches/) passes the method, and takes bytes; its types do not have that.
 */
export const passwordOf = (password: Buffer) => (method: Method) =>
  method === 'scram-sha-256' ? saslprep(password) : password

/**
 * The bytes of a password after SASLprep (RFC 4013), as Postgres and libpq do that. They leave a password as it is that is
 * ASCII or no UTF-8, or that SASLprep refuses. And they look for what it refuses before they normalize, not afterwards.
 */
export function saslprep(password: Buffer): Buffer {
  if (!isUtf8(password) || password.every(byte => byte < 128)) return password
  const mapped = [...password.toString()]
    .map(character => (isIn(SPACES, character) ? ' ' : character))
    .filter(character => !isIn(NOTHING, character))
  const isRefused =
    mapped.length === 0 ||
    mapped.some(character => isIn(PROHIBITED, character) || isIn(UNASSIGNED, character)) ||
    !isOneDirection(mapped)
  return isRefused ? password : Buffer.from(mapped.join('').normalize('NFKC'))
}

/** RFC 3454 §6: a text with a character from right to left begins and ends with one, and has none from left to right. */
function isOneDirection(characters: string[]): boolean {
  const isRightToLeft = (character = '') => isIn(RIGHT_TO_LEFT, character)
  if (!characters.some(isRightToLeft)) return true
  return (
    isRightToLeft(characters[0]) &&
    isRightToLeft(characters.at(-1)) &&
    !characters.some(character => isIn(LEFT_TO_RIGHT, character))
  )
}

function isIn(ranges: Ranges, character: string): boolean {
  const code = character.codePointAt(0) ?? 0
  return ranges.some(([first, last]) => first <= code && code <= last)
}
