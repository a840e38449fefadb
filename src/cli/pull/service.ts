import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { setting } from '../../config.ts'
import { Failure } from '../../errors.ts'
import { isLoopback } from '../../pull/request.ts'

/** The address that the paths of the API are put behind: without a slash at its end. */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('Give it as https://host or http://host.')
  if (url.username || url.password || url.search || url.hash)
    throw new InvalidArgumentError('Give scheme, host and path alone.')
  return url.href.replace(/\/+$/, '')
}

/** Whether a secret leaves this machine in the clear. */
export function isReadableOnTheWay(baseUrl: string): boolean {
  return new URL(baseUrl).protocol === 'http:' && !isLoopback(baseUrl)
}

/**
 * The secret in the file, or in AXPORT_CLIENT_SECRET. Never an argument: everybody on the machine sees those.
 * @throws Failure when there is none
 */
export function readSecret(file: string | undefined): string {
  if (file === undefined) {
    const secret = setting('AXPORT_CLIENT_SECRET')
    if (secret) return secret
    throw new Failure(
      'there is no secret: set AXPORT_CLIENT_SECRET, or name its file with --client-secret-file',
    )
  }
  let secret: string
  try {
    secret = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Failure(`cannot read the secret from ${file} (${(error as { code?: string }).code})`)
  }
  if (secret === '') throw new Failure(`${file} is empty: it has to hold the secret`)
  return secret
}
