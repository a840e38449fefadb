/** An OpenAPI document, as far as this service writes one and the reference page shows it. */
export interface OpenApiDocument {
  openapi: string
  info: { title: string; [more: string]: unknown }
  servers: object[]
  tags: object[]
  paths: Record<string, Record<string, Operation>>
  components: { securitySchemes: object; headers: Record<string, Header>; schemas: Record<string, Schema> }
}

export interface Operation {
  operationId: string
  summary: string
  description: string
  parameters?: Parameter[]
  requestBody?: { required: true; content: Record<string, { schema: Schema; examples: object }> }
  /** By status. */
  responses: Record<string, Response>
  /** Known to Redocly, Scalar and others, and to the reference page. */
  'x-codeSamples': { lang: 'Shell'; label: 'curl'; source: string }[]
  [more: string]: unknown
}

export interface Parameter {
  name: string
  in: 'query' | 'path'
  required?: boolean
  description: string
  schema: Schema
  [more: string]: unknown
}

export interface Response {
  description: string
  headers?: Record<string, object>
  content?: {
    'application/json': { schema: Schema; example?: object; examples?: Record<string, { value: unknown }> }
  }
}

export interface Header {
  description: string
  schema: Schema
  example: string | number
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
