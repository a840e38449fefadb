import { Elysia } from 'elysia'
import { TokenRequest } from '../contract.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { type BodyLimits, tokenParameters } from '../oauth/body.ts'
import { credentialsOf, NOT_STORED, oauthError, unsupportedGrantType } from '../oauth/client-credentials.ts'
import { issueToken } from '../oauth/tokens.ts'
import { NOBODY } from './admission.ts'
import { HIDDEN, tokenDetail } from './docs/described.ts'
import { failureAnswer, notAllowed } from './errors.ts'
import { exchangeOf } from './exchange.ts'

export const TOKEN = '/oauth/token'

/** POST /oauth/token: credentials → token, with the errors of OAuth. */
export const token = (db: ServingDatabase, limits: BodyLimits) =>
  new Elysia({ name: 'token' })
    .onError(({ code, error, request }) => {
      // The parser has refused everything else that may be wrong with a body, and Elysia has wrapped its errors.
      const wrong = code === 'VALIDATION' ? unsupportedGrantType() : error
      return failureAnswer(request, code === 'PARSE' ? error.cause : wrong, oauthError)
    })
    .all(TOKEN, ({ request }) => notAllowed(request, 'POST', oauthError), HIDDEN)
    .post(
      TOKEN,
      async ({ body, headers, request }) => {
        const credentials = credentialsOf(body, headers.authorization)
        // The request has arrived now, with its body: its deadline is the database's default.
        const work = { signal: request.signal, writes: 'tokens' } as const
        // Not before: a request whose body is still arriving does not wait for the database. The client id is not proven yet.
        const issued = await exchangeOf(request).service.admission.admit(oauthError, NOBODY, () =>
          issueToken(db.forRequest(work, NOBODY), credentials),
        )
        // Here and not for any statement that succeeds: one that refuses a wrong secret writes nothing.
        db.writes.accepted('tokens')
        const logFields = { clientId: credentials.clientId }
        return { status: 200, headers: NOT_STORED, body: [JSON.stringify(issued)], logFields }
      },
      {
        // The names are for the OpenAPI document: the parser always has a result.
        parse: [tokenParameters(limits), 'urlencoded', 'json'],
        body: TokenRequest,
        detail: tokenDetail(limits),
      },
    )
