import { setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { type Certificate, readCertificate } from '../http/tls.ts'

/** Whether the port speaks HTTPS. */
export function isEncrypted(): boolean {
  return setting('TLS_CERT_FILE') !== undefined
}

/**
 * The certificate that the settings name, read now; undefined when there is none.
 * @throws Failure when only one of the two settings is set, or what they name is no such pair
 */
export function readTls(): Certificate | undefined {
  const certFile = setting('TLS_CERT_FILE')
  const keyFile = setting('TLS_KEY_FILE')
  if (certFile && keyFile) return readCertificate(certFile, keyFile)
  if (certFile || keyFile) {
    throw new Failure(
      `${certFile ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE'} is not set: set both of TLS_CERT_FILE and TLS_KEY_FILE, or none`,
    )
  }
  return undefined
}
