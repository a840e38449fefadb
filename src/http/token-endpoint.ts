import { type BodyLimits, bodyTooLarge, bodyTooSlow, readBody, readJson } from '../oauth/body.ts'
import { clientOf, invalidClient, NOT_STORED, oauthError, readTokenParameters } from '../oauth/credentials.ts'
import { issueToken } from '../oauth/tokens.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Endpoint } from './endpoint.ts'
import { commonErrors, type Errors, refuseOverload, thrown } from './errors.ts'

export const TOKEN = '/oauth/token'

/** POST /oauth/token. OAuth has limits and errors of its own for the body, so the framework does not read it. */
export function tokenEndpoint(db: ServingDatabase, limits: BodyLimits): Endpoint {
  return {
    path: TOKEN,
    method: 'POST',
    style: oauthError,
    async answer(request) {
      const body = await readBody(request, limits)
      // Not before: a request whose body is still arriving does not wait for the database.
      refuseOverload(request, oauthError, db)
      const client = clientOf(readTokenParameters(body), request.headers.get('authorization'))
      const issued = await issueToken(db.forRequest(request), client)
      db.availability.noteWritable()
      const logFields = { clientId: client.clientId }
      return { status: 200, headers: NOT_STORED, body: JSON.stringify(issued), logFields }
    },
  }
}

/** The errors of the endpoint, for its description. */
export function tokenErrors(limits: BodyLimits): Errors {
  const secret = { clientId: undefined, clientSecret: 'a' }
  const form = (text: string) => thrown(() => readTokenParameters(new URLSearchParams(text)))
  return {
    400: {
      grantType: form(''),
      repeated: form('client_id=a&client_id=b'),
      inBoth: thrown(() => clientOf(secret, `Basic ${btoa('a:b')}`)),
      notJson: thrown(() => readJson('{')),
      notObject: thrown(() => readTokenParameters([])),
      notString: thrown(() => readTokenParameters({ grant_type: 1 })),
    },
    401: { client: invalidClient() },
    408: { slow: bodyTooSlow(limits.bodyTimeMs) },
    413: { large: bodyTooLarge(limits.bodySize) },
    ...commonErrors('POST', oauthError),
  }
}
