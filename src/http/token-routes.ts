import { Elysia } from 'elysia'
import { OAuthErrorBody } from '../answers.ts'
import { readBody } from '../oauth/body.ts'
import { oauthTrouble, readTokenParameters } from '../oauth/credentials.ts'
import { issueAccessToken, TokenResponse } from '../oauth/endpoint.ts'
import type { Pool } from '../postgres/pool.ts'
import { answerErrors } from './error-answer.ts'
import type { Limits } from './limits.ts'
import { refuseOthers, usePost } from './methods.ts'
import type { Watching } from './request-log.ts'
import { respond } from './respond.ts'
import { refuseOverload } from './unavailable.ts'
import { validator } from './validator.ts'

export const TOKEN = '/oauth/token'

const responses = {
  200: TokenResponse,
  400: OAuthErrorBody,
  401: OAuthErrorBody,
  500: OAuthErrorBody,
  503: OAuthErrorBody,
  504: OAuthErrorBody,
}

/** The token endpoint. Limits of the body and their errors are the protocol's, and so it is not the framework that reads it. */
export function tokenRoutes(db: Pool, limits: Limits, watching: Watching) {
  const answerOf = answerErrors(oauthTrouble, watching)
  const refuse = refuseOverload(limits, watching, oauthTrouble)
  const routes = new Elysia({ name: 'token' })
    .onError(({ error, code, request }) => respond(request, answerOf({ error, code, request })))
    .post(
      TOKEN,
      async ({ body, request }) =>
        respond(
          request,
          await issueAccessToken(db.during(request), body, request.headers.get('authorization')),
        ),
      {
        parse: ({ request }) => {
          refuse()
          return readBody(request, limits)
        },
        body: validator(readTokenParameters),
        response: responses,
      },
    )
  refuseOthers(routes, TOKEN, usePost)
  return routes
}
