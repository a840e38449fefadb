import { Elysia } from 'elysia'
import { OAuthErrorBody } from '../answers.ts'
import { readBody } from '../oauth/body.ts'
import { oauthTrouble, readTokenParameters } from '../oauth/credentials.ts'
import { issueAccessToken, TokenResponse } from '../oauth/endpoint.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import { answerErrors } from './error-answer.ts'
import type { Limits } from './limits.ts'
import { refuseOthers, usePost } from './methods.ts'
import type { Watching } from './request-log.ts'
import { respond } from './respond.ts'
import { refuseOverload } from './unavailable.ts'
import { validator } from './validator.ts'

export const TOKEN = '/oauth/token'

const error = OAuthErrorBody
const responses = { 200: TokenResponse, 400: error, 401: error, 500: error, 503: error, 504: error }

/** The token endpoint. Limits of the body and their errors are the protocol's, and so it is not the framework that reads it. */
export function tokenRoutes(db: ServingDatabase, limits: Limits, watching: Watching) {
  const answerOf = answerErrors(oauthTrouble, watching)
  const refuse = refuseOverload(limits, watching, oauthTrouble)
  const routes = new Elysia({ name: 'token' })
    .onError(({ error, code, request }) => respond(request, answerOf({ error, code, request })))
    .post(
      TOKEN,
      async ({ body, request }) => {
        const authorization = request.headers.get('authorization')
        const answer = await issueAccessToken(db.forRequest(request), body, authorization)
        db.availability.noteWritable()
        return respond(request, answer)
      },
      {
        parse: async ({ request }) => {
          const body = await readBody(request, limits)
          // Not before: who has not sent all of it yet does not wait for the database.
          refuse(db)
          return body
        },
        body: validator(readTokenParameters),
        response: responses,
      },
    )
  refuseOthers(routes, TOKEN, usePost)
  return routes
}
