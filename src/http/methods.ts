import type { AnyElysia } from 'elysia'
import { apiError, errorAnswer, type HttpError } from '../answers.ts'
import { oauthError } from '../oauth/credentials.ts'
import { respond } from './respond.ts'

/** 405 of everything that is read; HEAD works where GET does. */
export function useGet(): HttpError {
  return apiError(405, 'Use GET', { allow: 'GET, HEAD' })
}

/** 405 of the token endpoint. */
export function usePost(): HttpError {
  return oauthError(405, 'invalid_request', 'Use POST', { allow: 'POST' })
}

/** Refuses the other methods of a path, which the type of the routes does not learn of: Eden would offer them all. */
export function refuseOthers(routes: AnyElysia, path: string, refusal: () => HttpError): void {
  routes.all(path, ({ request }) => respond(request, errorAnswer(refusal())))
}
