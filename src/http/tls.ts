import { createPrivateKey, X509Certificate } from 'node:crypto'
import { Failure } from '../errors.ts'
import { readNamed } from '../files.ts'

/** A certificate with its chain, and its key, both PEM. */
export interface Certificate {
  cert: string
  key: string
}

/** Reads a certificate and its key. @throws Failure if one is unreadable or wrong, or they do not belong together */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  const cert = readNamed(certFile, `TLS_CERT_FILE names ${certFile}, which`)
  const key = readNamed(keyFile, `TLS_KEY_FILE names ${keyFile}, which`)
  const certificate = attempted(
    () => new X509Certificate(cert),
    `TLS_CERT_FILE names ${certFile}, which is no certificate in PEM form`,
  )
  const privateKey = attempted(
    () => createPrivateKey(key),
    `TLS_KEY_FILE names ${keyFile}, which is no private key in PEM form, or one with a passphrase`,
  )
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Failure(`the key in ${keyFile} (TLS_KEY_FILE) is not that of ${certFile} (TLS_CERT_FILE)`)
  }
  return { cert, key }
}

function attempted<Value>(work: () => Value, complaint: string): Value {
  try {
    return work()
  } catch {
    throw new Failure(complaint)
  }
}
