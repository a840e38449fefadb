import type { WWWAuthenticateChallengeError } from 'oauth4webapi'
import type { Refusal } from './task.ts'

/**
 * What the challenge error of oauth4webapi and openid-client shows: the header as they parsed it, written again;
 * the body is left for the caller to read.
 */
export async function challenged(error: WWWAuthenticateChallengeError): Promise<Refusal> {
  const body = (await error.response.json()) as { error: string; error_description: string }
  const challenge = error.cause
    .map(({ scheme, parameters }) => {
      const pairs = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`)
      return `${scheme} ${pairs.join(', ')}`
    })
    .join(', ')
  return {
    kind: error.name,
    status: error.status,
    error: body.error,
    description: body.error_description,
    challenge,
  }
}
