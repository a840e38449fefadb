import type { ServingDatabase } from '../database/pool.ts'
import { type BodyLimits, readBody } from '../oauth/body.ts'
import { clientOf, NOT_STORED, oauthError } from '../oauth/credentials.ts'
import { issueToken } from '../oauth/tokens.ts'
import { NOBODY } from './admission.ts'
import type { Endpoint } from './endpoint.ts'
import { originOf } from './request-log.ts'

export const TOKEN = '/oauth/token'

/** POST /oauth/token. OAuth has limits and errors of its own for the body, so the framework does not read it. */
export function tokenEndpoint(db: ServingDatabase, limits: BodyLimits): Endpoint {
  return {
    path: TOKEN,
    method: 'POST',
    style: oauthError,
    async answer(request) {
      const body = await readBody(request, limits)
      const client = clientOf(body, request.headers.get('authorization'))
      // The request has arrived now, with its body: its deadline is the database's default.
      const requester = { signal: request.signal, writes: 'tokens' } as const
      // Not before: a request whose body is still arriving does not wait for the database. The client id is not proven yet.
      const issued = await originOf(request).monitor.admission.admit(oauthError, NOBODY, () =>
        issueToken(db.forRequest(requester, NOBODY), client),
      )
      // Here and not for any statement that succeeds: one that refuses a wrong secret writes nothing.
      db.writes.accepted('tokens')
      const logFields = { clientId: client.clientId }
      return { status: 200, headers: NOT_STORED, body: [JSON.stringify(issued)], logFields }
    },
  }
}
