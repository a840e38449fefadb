import { createHash } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** 43 characters of 62 are 256 bits. */
export const SECRET_LENGTH = 43

/**
 * Random text of letters and digits. Form and percent encoding leave it as it is, so that clients may or may not encode it
 * (RFC 6749 §2.3.1).
 */
export function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length - text.length))) {
      // 248 = 4 × 62: larger bytes would make the first letters of the alphabet more likely.
      if (byte < 248) text += ALPHABET[byte % ALPHABET.length]
    }
  }
  return text
}

/** The digest of a secret or a token, which is what the database stores: 32 bytes. */
export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
