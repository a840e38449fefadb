import type { BodyLimits } from '../../oauth/body.ts'
import { listErrors, retrieveErrors, tokenErrors } from './errors.ts'
import * as examples from './examples.ts'
import { answerHeaders } from './headers.ts'
import { listParameters } from './parameters.ts'
import { type Json, refTo, type SchemaName } from './schema.ts'

/** POST /oauth/token */
export function tokenOperation(limits: BodyLimits): Json {
  const secrets = { client_id: 'BD77VoKUovcSbaUgYJQxPiOm', client_secret: 'your-client-secret' }
  const grant = { grant_type: 'client_credentials' }
  const schema = refTo('TokenRequest')
  const inBody = { summary: 'Credentials in the body', value: { ...grant, ...secrets } }
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
        'application/x-www-form-urlencoded': {
          schema,
          examples: { inBody, basic: { summary: 'Credentials by HTTP Basic', value: grant } },
        },
        'application/json': { schema, examples: { inBody } },
      },
    },
    responses: {
      200: answer('An access token.', 'TokenResponse', examples.token, []),
      ...tokenErrors(limits),
    },
  }
}

/** GET /api/v1/ax/assessments */
export function listOperation(): Json {
  return {
    operationId: 'listAssessments',
    tags: ['Assessments'],
    summary: 'List assessments',
    description:
      'The completed assessments in the scope of the integration, filtered, sorted, a page at a time. An empty page is a success. HEAD answers the same without the body.',
    security: [{ clientCredentials: [] }],
    'x-codeSamples': curl(
      // curl would take brackets for a range without -g.
      `curl -sg -H "Authorization: Bearer $TOKEN" \\\n'BASE_URL/api/v1/ax/assessments?page=100&offset=0&filter[start_date]=2026-01-01'`,
    ),
    parameters: listParameters(),
    responses: {
      200: answer('A page of assessments.', 'AssessmentList', examples.list, ['vary', 'link']),
      ...listErrors(),
    },
  }
}

/** GET /api/v1/ax/assessments/:id */
export function retrieveOperation(): Json {
  return {
    operationId: 'retrieveAssessment',
    tags: ['Assessments'],
    summary: 'Retrieve one assessment',
    description: 'One completed assessment, as it stands in a list. HEAD answers the same without the body.',
    security: [{ clientCredentials: [] }],
    'x-codeSamples': curl(
      `curl -s -H "Authorization: Bearer $TOKEN" BASE_URL/api/v1/ax/assessments/${examples.record.id}`,
    ),
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'ID of an overall assessment. The `assessment_id` of a part is not found.',
        schema: { type: 'integer', format: 'int64' },
      },
    ],
    responses: {
      200: answer('The assessment.', 'AssessmentRecord', examples.record, ['vary']),
      ...retrieveErrors(),
    },
  }
}

/** Known to Redocly, Scalar and others, and to our own page. */
const curl = (source: string) => [{ lang: 'Shell', label: 'curl', source }]

function answer(description: string, schema: SchemaName, example: object, headers: string[]): Json {
  return {
    description,
    headers: answerHeaders(headers),
    content: { 'application/json': { schema: refTo(schema), example } },
  }
}
