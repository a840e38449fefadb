import { createPrivateKey, X509Certificate } from 'node:crypto'
import { Failure } from '../errors.ts'
import { readNamed } from '../files.ts'

/** A certificate with its chain, and its key, both PEM. */
export interface Certificate {
  cert: string
  key: string
  /** When the certificate ends, in Unix seconds. */
  expires: number
}

/** Reads a certificate and its key. @throws Failure if one is unreadable or wrong, or they do not belong together */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  const [cert, leaf] = readPem('TLS_CERT_FILE', certFile, 'certificate', pem => new X509Certificate(pem))
  const [key, privateKey] = readPem('TLS_KEY_FILE', keyFile, 'private key', createPrivateKey)
  if (leaf.checkPrivateKey(privateKey))
    return { cert, key, expires: Math.floor(Date.parse(leaf.validTo) / 1000) }
  throw new Failure(`the key in ${keyFile} (TLS_KEY_FILE) is not that of ${certFile} (TLS_CERT_FILE)`)
}

const DAY_SECONDS = 86_400

/** What is to be said of a certificate that has ended, or ends within 14 days; undefined for any other. */
export function describeEnd({ expires }: Certificate): string | undefined {
  const day = new Date(expires * 1000).toISOString().slice(0, 10)
  const seconds = expires - Date.now() / 1000
  if (seconds <= 0) return `ended on ${day}, so clients refuse it`
  return seconds < 14 * DAY_SECONDS ? `ends on ${day}, within 14 days` : undefined
}

/** The text of a file, and what `parse` makes of that. */
function readPem<Value>(setting: string, file: string, what: string, parse: (pem: string) => Value) {
  const pem = readNamed(file, `${setting} names ${file}, which`)
  try {
    return [pem, parse(pem)] as const
  } catch {
    throw new Failure(`${setting} names ${file}, which is no ${what} in PEM form, or has a passphrase`)
  }
}
