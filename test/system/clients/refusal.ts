import { ResponseBodyError, WWWAuthenticateChallengeError } from 'oauth4webapi'
import type { Refusal } from './task.ts'

/**
 * What an error of oauth4webapi shows; openid-client throws the same errors. A challenge is written again from the
 * parsed header. An error with a challenge leaves the body of the answer unread.
 */
export async function refusal(error: unknown): Promise<Refusal | undefined> {
  if (error instanceof ResponseBodyError) {
    const { name: kind, status, error: code, error_description: description } = error
    return { kind, status, error: code, description }
  }
  if (!(error instanceof WWWAuthenticateChallengeError)) return undefined
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
