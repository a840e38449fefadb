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
 * @throws Failure when one can not be read, is not what it should be, or they do not belong together
 */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  const cert = read('TLS_CERT_FILE', certFile)
  const key = read('TLS_KEY_FILE', keyFile)
  const certificate = parsed(
    () => new X509Certificate(cert),
    `TLS_CERT_FILE names ${certFile}, which is no certificate in PEM form`,
  )
  const privateKey = parsed(
    () => createPrivateKey(key),
    `TLS_KEY_FILE names ${keyFile}, which is no private key in PEM form, or one with a passphrase`,
  )
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Failure(`the key in ${keyFile} (TLS_KEY_FILE) is not that of ${certFile} (TLS_CERT_FILE)`)
  }
  return { cert, key }
}

function read(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Failure(
      `${setting} names ${file}, which can not be read (${(error as { code?: string }).code})`,
    )
  }
}

function parsed<Value>(parse: () => Value, complaint: string): Value {
  try {
    return parse()
  } catch {
    throw new Failure(complaint)
  }
}
