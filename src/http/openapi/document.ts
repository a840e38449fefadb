import { ErrorsBody, OAuthErrorBody } from '../../answers.ts'
import { MAX_LINK } from '../../assessments/next-link.ts'
import { DEFAULT_PAGE, MAX_FILTER_VALUES, MAX_PAGE } from '../../assessments/parameters.ts'
import { MAX_QUERY_BYTES } from '../../assessments/parse.ts'
import { AssessmentList, AssessmentRecord, ResultPart } from '../../assessments/record.ts'
import type { BodyLimits } from '../../oauth/body.ts'
import { TokenParameters, TokenResponse } from '../../oauth/credentials.ts'
import { TOKEN_LIFETIME } from '../../oauth/tokens.ts'
import { LIST, listOperation, RETRIEVE, retrieveOperation } from '../assessment-endpoints.ts'
import { TOKEN, tokenOperation } from '../token-endpoint.ts'
import guide from './guide.md' with { type: 'text' }
import { HEADERS } from './responses.ts'

/** An OpenAPI document, as far as the reference page shows it. */
export interface OpenApiDocument {
  info: { title: string; description: string }
  paths: Record<string, Record<string, Operation>>
  components: {
    headers: Record<string, { description: string; example: string | number }>
    schemas: Record<string, Schema>
  }
}

export interface Operation {
  operationId: string
  summary: string
  description: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  /** By status. */
  responses: Record<string, Response>
  'x-codeSamples': { source: string }[]
}

export interface Parameter {
  name: string
  required?: boolean
  description: string
  schema: Schema
}

export interface Response {
  description: string
  headers?: Record<string, object>
  content?: {
    'application/json': { schema: Schema; example?: object; examples?: Record<string, { value: unknown }> }
  }
}

/** A JSON schema. */
export interface Schema {
  $ref?: string
  type?: string
  format?: string
  const?: unknown
  enum?: string[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  description?: string
  default?: unknown
}

/** The numbers that guide.md names in braces. */
const NUMBERS: Record<string, number> = {
  ...{ DEFAULT_PAGE, MAX_FILTER_VALUES, MAX_LINK, MAX_PAGE, MAX_QUERY_BYTES, TOKEN_LIFETIME },
}

/** What an integration has to know beside the operations: Markdown with one line for each paragraph. */
const GUIDE = guide
  .trimEnd()
  .replaceAll(/(?<!\n)\n(?!\n)/g, ' ')
  .replaceAll(/\{\{(\w+)\}\}/g, (braces, name) => NUMBERS[name]?.toLocaleString('en-US') ?? braces)

/** The schemas that have a name in the document. */
const SCHEMAS = {
  AssessmentList,
  AssessmentRecord,
  ResultPart,
  TokenRequest: TokenParameters,
  TokenResponse,
  ApiError: ErrorsBody,
  OAuthError: OAuthErrorBody,
}

/**
 * The OpenAPI 3.1 document of the service, made of the schemas by which the code reads requests and of the errors that
 * it answers with. @elysiajs/openapi would describe the schemas that Elysia validates with, and it validates nothing here.
 */
export function openApiDocument(limits: BodyLimits): OpenApiDocument {
  const document = {
    openapi: '3.1.1',
    info: {
      title: 'Assessment Export Service',
      version: '1',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
      summary: 'Completed assessments of educators, for integrations.',
      description: GUIDE,
    },
    // Relative to this document: a proxy may serve it below a path of its own.
    servers: [{ url: '.', description: 'This service.' }],
    tags: [
      { name: 'Tokens', description: 'Client credentials for an access token.' },
      { name: 'Assessments', description: 'The completed assessments in the scope of the integration.' },
    ],
    paths: {
      [TOKEN]: { post: tokenOperation(limits) },
      [LIST]: { get: listOperation() },
      [RETRIEVE.replace(':id', '{id}')]: { get: retrieveOperation() },
    },
    components: {
      securitySchemes: {
        clientCredentials: {
          type: 'oauth2',
          description: 'An access token as `Authorization: Bearer TOKEN`.',
          flows: { clientCredentials: { tokenUrl: 'oauth/token', scopes: {} } },
        },
      },
      headers: HEADERS,
      schemas: SCHEMAS,
    },
  }
  return JSON.parse(JSON.stringify(document, withReferences))
}

/** Puts a reference for each named schema, except under its name. */
function withReferences(this: object, _key: string, value: unknown): unknown {
  const [name] = Object.entries(SCHEMAS).find(([, schema]) => schema === value) ?? []
  return name === undefined || this === SCHEMAS ? value : { $ref: `#/components/schemas/${name}` }
}
