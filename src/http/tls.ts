import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Failure } from '../errors.ts'

/** A certificate with its chain, and its key, both PEM. */
export interface Certificate {
  cert: string
  key: string
}

/**
 * Reads TLS_CERT_FILE and TLS_KEY_FILE.
 * @throws Failure when one cannot be read, is not what it should be, or they do not belong together
 */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  const cert = read('TLS_CERT_FILE', certFile)
  const key = read('TLS_KEY_FILE', keyFile)
  const certificate = attempted(
    () => new X509Certificate(cert),
    () => `TLS_CERT_FILE names ${certFile}, which is no certificate in PEM form`,
  )
  const privateKey = attempted(
    () => createPrivateKey(key),
    () => `TLS_KEY_FILE names ${keyFile}, which is no private key in PEM form, or one with a passphrase`,
  )
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Failure(`the key in ${keyFile} (TLS_KEY_FILE) is not that of ${certFile} (TLS_CERT_FILE)`)
  }
  return { cert, key }
}

const read = (setting: string, file: string) =>
  attempted(
    () => readFileSync(file, 'utf8'),
    error => `${setting} names ${file}, which cannot be read (${error.code})`,
  )

function attempted<Value>(work: () => Value, complaint: (error: { code?: string }) => string): Value {
  try {
    return work()
  } catch (error) {
    throw new Failure(complaint(error as { code?: string }))
  }
}
