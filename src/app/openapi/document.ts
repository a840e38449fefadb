import { MAX_LINK } from '../../assessments/next-link.ts'
import { MAX_QUERY_BYTES } from '../../assessments/query-string.ts'
import { AssessmentRecord, LIST_PARAMETERS, ResultPart } from '../../contract.ts'
import type { BodyLimits } from '../../oauth/body.ts'
import { MAX_VALUES as MAX_FILTER_VALUES } from '../../parameters.ts'
import { LIST } from '../assessments.ts'
import { type Errors, errorsOf } from './errors.ts'
import guide from './guide.md' with { type: 'text' }
import skeleton from './openapi.yaml'

/** An OpenAPI document, as far as the reference page shows it. */
export interface OpenApiDocument {
  info: { title: string; description: string; 'x-time-zone'?: string }
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
  'x-codeSamples': CodeSample[]
}

/** A program in one language, which reads the base address from AXPORT_URL. */
export interface CodeSample {
  label: string
  source: string
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

/** The constants that the texts name in braces. */
const NUMBERS = { MAX_FILTER_VALUES, MAX_LINK, MAX_QUERY_BYTES }

/** The schemas of the code that have a name in the document. */
const SCHEMAS = { AssessmentRecord, ResultPart }

/** What the texts call the time zone, whose name follows where it is known. */
const OF_THE_PLATFORM = 'in the time zone of the platform'

/**
 * The OpenAPI 3.1 document. @elysiajs/openapi would describe what Elysia validates with: here it validates nothing.
 * @param timeZone that of the platform, if it is known
 */
export function openApiDocument(limits: BodyLimits, timeZone?: string): OpenApiDocument {
  // A copy, in which a part that openapi.yaml has once is in each of its places.
  const document: OpenApiDocument = JSON.parse(JSON.stringify(skeleton))
  const { info, paths, components } = document
  // One line for each paragraph.
  info.description = guide.trimEnd().replaceAll(/(?<!\n)\n(?!\n)/g, ' ')
  if (timeZone) info['x-time-zone'] = timeZone
  Object.assign(components.schemas, SCHEMAS)
  const errors = errorsOf(limits)
  for (const [path, methods] of Object.entries(paths)) {
    for (const operation of Object.values(methods)) {
      if (path === LIST) operation.parameters = listParameters()
      for (const [status, named] of Object.entries(errors[path] ?? {})) {
        Object.assign(operation.responses[status] as Response, shown(named, Object.keys(components.headers)))
      }
    }
  }
  const number = (_: string, name: keyof typeof NUMBERS) => NUMBERS[name].toLocaleString('en-US')
  const json = JSON.stringify(document, withReferences).replaceAll(/\{\{(\w+)\}\}/g, number)
  // The names of time zones have nothing that JSON would escape.
  return JSON.parse(timeZone ? json.replaceAll(OF_THE_PLATFORM, `${OF_THE_PLATFORM}, ${timeZone}`) : json)
}

/**
 * The parameters of the list. Each filter is one of its own, with brackets in its name: the style "deepObject" does not say
 * how arrays are written (OpenAPI 3.1.1, §4.12.2). "form" with "explode", the default, repeats the name for each value.
 */
const listParameters = () =>
  Object.entries(LIST_PARAMETERS).map(([name, { schema }]) => {
    const { description, ...rest } = schema
    const style = schema.type === 'array' ? { style: 'form', explode: true } : {}
    return { name, in: 'query', description: String(description), ...style, schema: rest }
  })

/** An example for each error of a status, and the headers that the errors have. */
function shown(named: Errors[number], described: string[]) {
  const errors = Object.values(named)
  const sent = new Headers(errors.flatMap(({ headers }) => Object.entries(headers)))
  const names = new Set(['Cache-Control', 'X-Request-Id', ...described.filter(name => sent.has(name))])
  const headers = [...names].map(name => [name, { $ref: `#/components/headers/${name}` }])
  const examples = Object.entries(named).map(([name, { body }]) => [
    name,
    { summary: 'error' in body ? body.error_description : body.errors[0]?.message, value: body },
  ])
  const schema = errors.some(({ body }) => 'error' in body) ? 'OAuthError' : 'ApiError'
  const json = { schema: { $ref: `#/components/schemas/${schema}` }, examples: Object.fromEntries(examples) }
  return { headers: Object.fromEntries(headers), content: { 'application/json': json } }
}

/** Puts a reference for each named schema, except under its name. */
function withReferences(key: string, value: unknown): unknown {
  const [name] = Object.entries(SCHEMAS).find(([, schema]) => schema === value) ?? []
  return name === undefined || name === key ? value : { $ref: `#/components/schemas/${name}` }
}
