import { createHash } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** 43 characters of 62 are 256 bits. */
export const SECRET_LENGTH = 43

/**
 * Random text of letters and digits only: nothing in it that form or percent encoding would change, so the
 * encoded and the raw form are one, whatever a client library does (RFC 6749 §2.3.1).
 */
export function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length - text.length))) {
      // 248 = 4 × 62: a byte past it would make the first letters of the alphabet likelier than the rest.
      if (byte < 248) text += ALPHABET[byte % ALPHABET.length]
    }
  }
  return text
}

/** What is stored of a secret or a token: 32 bytes. */
export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
