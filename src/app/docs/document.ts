// Its main module has viewers and a compiler, 240 KB, besides this function, which its plugin writes the document with.
import { toOpenAPISchema } from '@elysiajs/openapi/openapi'
import type { AnyElysia } from 'elysia'
import { DOCUMENTATION, HEADERS, SCHEMAS, SECURITY_SCHEMES } from './described.ts'

/** An OpenAPI document, as far as the page shows it. */
export interface OpenApiDocument {
  info: { title: string; summary: string; description: string; 'x-time-zone'?: string }
  servers: { url: string; description: string }[]
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
}

export interface Parameter {
  name: string
  description: string
  example?: unknown
  schema: Schema
}

export interface Response {
  description: string
  headers?: Record<string, object>
  content?: {
    'application/json': { schema: Schema; example?: object; examples?: Record<string, { value: unknown }> }
  }
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
  examples?: unknown[]
}

/** The OpenAPI 3.1 document of the routes of an app, by what they are validated with. */
export function openApiDocument(app: AnyElysia): OpenApiDocument {
  // The shortest first: the token, the list, a record.
  const routes = Object.entries(toOpenAPISchema(app).paths)
  const paths = Object.fromEntries(routes.toSorted(([one], [other]) => one.length - other.length))
  const components = { securitySchemes: SECURITY_SCHEMES, headers: HEADERS, schemas: SCHEMAS }
  return JSON.parse(JSON.stringify({ ...DOCUMENTATION, paths, components }, completed))
}

/** The names of the schemas by their JSON. */
const NAMES = new Map(Object.entries(SCHEMAS).map(([name, schema]) => [JSON.stringify(schema), name]))

/**
 * Puts a reference for each schema that has a name, except under its name. Gives parameters what viewers look for at them
 * and not at their schemas. The style "deepObject" does not say how arrays are written (OpenAPI 3.1.1, §4.12.2): so each
 * filter has brackets in its name, and "form" with "explode" repeats the name for each value.
 */
function completed(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const name = NAMES.get(JSON.stringify(value))
  if (name !== undefined && name !== key) return { $ref: `#/components/schemas/${name}` }
  if (key !== 'parameters') return value
  return (value as Parameter[]).map(({ schema: { description, examples, ...schema }, ...parameter }) => ({
    ...parameter,
    description,
    ...(schema.type === 'array' && { style: 'form', explode: true }),
    example: examples?.[0],
    schema,
  }))
}

/** The document with the base address of the service, if that is known. */
export function servedAt(document: OpenApiDocument, base: string | undefined): OpenApiDocument {
  return { ...document, servers: document.servers.map(server => ({ ...server, url: base ?? server.url })) }
}

/** What the texts call the time zone, whose name follows where it is known. */
const OF_THE_PLATFORM = 'in the time zone of the platform'

/** A text with the name of the time zone. */
export const zoned = (text: string, timeZone: string | undefined): string =>
  timeZone === undefined ? text : text.replaceAll(OF_THE_PLATFORM, `${OF_THE_PLATFORM}, ${timeZone}`)

/** The document with the time zone of the platform, if that is known. */
export function inTimeZone(document: OpenApiDocument, timeZone: string | undefined): OpenApiDocument {
  if (timeZone === undefined) return document
  // The names of time zones have nothing that JSON would escape.
  const named = JSON.parse(zoned(JSON.stringify(document), timeZone)) as OpenApiDocument
  return { ...named, info: { ...named.info, 'x-time-zone': timeZone } }
}
