import { hash, randomInt } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** 43 characters of 62 are 256 bits. */
export const SECRET_LENGTH = 43

/** Random letters and digits, which clients may or may not encode: encodings leave them as they are (RFC 6749 §2.3.1). */
export function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** The digest of a secret or a token, which is what the database stores: 32 bytes as Postgres writes them, in hex after \x. */
export function sha256(text: string): string {
  return `\\x${hash('sha256', text, 'hex')}`
}
