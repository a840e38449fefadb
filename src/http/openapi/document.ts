import type { BodyLimits } from '../../oauth/body.ts'
import { LIST, listOperation, RETRIEVE, retrieveOperation } from '../assessment-endpoints.ts'
import { TOKEN, tokenOperation } from '../token-endpoint.ts'
import { GUIDE, SUMMARY } from './guide.ts'
import { HEADERS } from './responses.ts'
import { namedSchemas } from './schemas.ts'
import type { OpenApiDocument } from './types.ts'

/**
 * The OpenAPI 3.1 document of the service, made of the schemas by which the code reads requests and of the errors that
 * it answers with. @elysiajs/openapi would describe the schemas that Elysia validates with, and it validates nothing here.
 */
export function openApiDocument(limits: BodyLimits): OpenApiDocument {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Assessment Export Service',
      version: '1',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
      summary: 'Completed assessments of educators, for integrations.',
      description: [
        SUMMARY,
        ...GUIDE.map(({ title, paragraphs }) => [`## ${title}`, ...paragraphs].join('\n\n')),
      ].join('\n\n'),
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
      schemas: namedSchemas(),
    },
  }
}
