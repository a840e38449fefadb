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
