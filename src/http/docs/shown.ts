/** The OpenAPI document, as far as the page shows it. */
export interface ShownDocument {
  info: { title: string }
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; headers: Record<string, Header> }
}

export interface Operation {
  operationId: string
  summary: string
  description: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, Answer>
  'x-codeSamples': { source: string }[]
}

export interface Parameter {
  name: string
  in: string
  required?: boolean
  description: string
  schema: Schema
}

export interface Answer {
  description: string
  headers?: Record<string, object>
  content?: Record<string, Content>
}

export interface Content {
  schema: Schema
  example?: unknown
  examples?: Record<string, { summary: string; value: unknown }>
}

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

interface Header {
  description: string
  example: string | number
}

/** The name at the end of a reference. */
export function nameOf({ $ref = '' }: Schema): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}
