import { Elysia } from 'elysia'
import { apiError, type HttpError } from '../answers.ts'
import { oauthError } from '../oauth/credentials.ts'

/** 405 of everything that is read; HEAD works where GET does. */
export function useGet(): HttpError {
  return apiError(405, 'Use GET', { allow: 'GET, HEAD' })
}

/** 405 of the token endpoint. */
export function usePost(): HttpError {
  return oauthError(405, 'invalid_request', 'Use POST', { allow: 'POST' })
}

/**
 * Refuses the methods that the route of a path does not have, before anybody is asked for a token. The type
 * names none of them, or a typed client (Eden) would offer every method there is.
 */
export function refuseOthers(path: string, refusal: () => HttpError): Elysia {
  return new Elysia({ name: `others of ${path}` }).all(path, () => {
    throw refusal()
  }) as unknown as Elysia
}
