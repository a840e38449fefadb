import type { BodyLimits } from '../../oauth/body.ts'
import { GUIDE, SUMMARY } from './guide.ts'
import { HEADER_COMPONENTS } from './headers.ts'
import { listOperation, retrieveOperation, tokenOperation } from './operations.ts'
import { type Json, namedSchemas } from './schema.ts'

/**
 * The OpenAPI 3.1 document of the service. It is put together from the schemas that the code reads requests by
 * and from the errors that it answers with.
 *
 * Not by @elysiajs/openapi, which describes a route by the schemas that it validates with: ours read what the
 * framework's own parsers of query strings and bodies would not (see http/validator.ts).
 */
export function openApiDocument(limits: BodyLimits): Json {
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
      '/oauth/token': { post: tokenOperation(limits) },
      '/api/v1/ax/assessments': { get: listOperation() },
      '/api/v1/ax/assessments/{id}': { get: retrieveOperation() },
    },
    components: {
      securitySchemes: {
        clientCredentials: {
          type: 'oauth2',
          description: 'An access token as `Authorization: Bearer TOKEN`.',
          flows: { clientCredentials: { tokenUrl: 'oauth/token', scopes: {} } },
        },
      },
      headers: HEADER_COMPONENTS,
      schemas: namedSchemas(),
    },
  }
}
