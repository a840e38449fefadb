import { type BodyLimits, bodyTooLarge, bodyTooSlow, readBody, readJson } from '../oauth/body.ts'
import {
  clientOf,
  invalidClient,
  NOT_STORED,
  oauthError,
  readTokenParameters,
  TokenParameters,
  TokenResponse,
} from '../oauth/credentials.ts'
import { issueToken } from '../oauth/tokens.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Endpoint } from './endpoint.ts'
import { refuseOverload } from './errors.ts'
import examples from './openapi/examples.json'
import { commonFailures, curl, failure, success, thrown } from './openapi/responses.ts'

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

const grant = { grant_type: 'client_credentials' } as const
const secrets = { client_id: 'BD77VoKUovcSbaUgYJQxPiOm', client_secret: 'your-client-secret' }

/** The description of the endpoint. */
export function tokenOperation(limits: BodyLimits) {
  const schema = TokenParameters
  const inBody = { summary: 'Credentials in the body', value: { ...grant, ...secrets } }
  const basic = { summary: 'Credentials by HTTP Basic', value: grant }
  return {
    operationId: 'issueToken',
    tags: ['Tokens'],
    summary: 'Get an access token',
    description:
      'Takes the credentials in any one of three ways: as form parameters, as a JSON body, or by HTTP Basic with `grant_type` in the body. Other parameters are ignored; there are no scopes. Every request issues a further token.',
    // Basic is no scheme here: a generated client would send the header beside the credentials in the body, which is a 400.
    security: [],
    'x-codeSamples': curl(
      'curl -s BASE_URL/oauth/token -d grant_type=client_credentials \\\n-d client_id=CLIENT_ID -d client_secret=CLIENT_SECRET',
    ),
    requestBody: {
      required: true,
      content: {
        'application/x-www-form-urlencoded': { schema, examples: { inBody, basic } },
        'application/json': { schema, examples: { inBody } },
      },
    },
    responses: {
      200: success('An access token.', TokenResponse, examples.token, []),
      ...tokenFailures(limits),
      ...commonFailures('POST', oauthError),
    },
  }
}

/** RFC 6749 §5.2. */
function tokenFailures(limits: BodyLimits) {
  const form = (text: string) => thrown(() => readTokenParameters(new URLSearchParams(text)))
  return {
    400: failure('The request is wrong in itself. Repeating it does not help.', {
      grantType: form(''),
      repeated: form('client_id=a&client_id=b'),
      inBoth: thrown(() => clientOf({ ...grant, client_secret: 'a' }, `Basic ${btoa('a:b')}`)),
      notJson: thrown(() => readJson('{')),
      notObject: thrown(() => readTokenParameters([])),
      notString: thrown(() => readTokenParameters({ grant_type: 1 })),
    }),
    401: failure('The client ID or the secret is wrong, or the integration is disabled.', {
      client: invalidClient(),
    }),
    408: failure('The body took too long to arrive. The connection is closed; the request may be repeated.', {
      slow: bodyTooSlow(limits.bodyTimeMs),
    }),
    413: failure('The body is too large.', { large: bodyTooLarge(limits.bodySize) }),
  }
}
