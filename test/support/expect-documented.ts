import Ajv from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { createApp } from '../../src/app/app.ts'
import { openApiDocument } from '../../src/app/docs/document.ts'
import { readLimits } from '../../src/cli/limits.ts'
import { Counters } from '../../src/counters.ts'

/** The parts of the OpenAPI document that the check reads. */
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Documented> }>>
  components: object
}

interface Documented {
  headers?: Record<string, object>
  content?: Record<string, { schema: object }>
}

/** An answer has one of these headers if and only if the document describes it. Those of SOMETIMES may be missing. */
const SOMETIMES = ['link']
const MEANINGFUL = [...SOMETIMES, 'allow', 'retry-after', 'vary', 'www-authenticate', 'x-request-id']

// Only the routes of this app are read.
const app = createApp({} as never, readLimits({}).http, { counters: new Counters() } as never)
const document = closed(openApiDocument(app)) as unknown as Document
const ajv = addFormats(new Ajv({ strict: false, allErrors: true }))
ajv.addSchema({ $id: 'openapi', components: document.components })

/**
 * Throws unless the OpenAPI document allows this answer to this request: the operation has the status, the body follows
 * its schema and has no further fields, and the headers are the described ones. A request with HEAD or an unsupported
 * method is checked against the operation that the path has. A path that the document does not have must be a 404.
 */
export function expectDocumented(
  method: string,
  target: string,
  answer: { status: number; headers: { get(name: string): string | null | undefined }; text: string },
): void {
  const { status, headers, text } = answer
  const fail = (what: string): never => {
    throw new Error(`${method} ${target} was answered with ${status}, and ${what}: ${text.slice(0, 500)}`)
  }
  const operations = operationsAt(target.split('?', 1)[0] as string)
  if (!operations) {
    if (status !== 404) fail('the document has no such path')
    return
  }
  const [operation] = Object.values(operations)
  const documented = operation?.responses[status] ?? fail('the document has no such status')
  for (const name of MEANINGFUL) {
    const isDescribed = Object.keys(documented.headers ?? {}).some(known => known.toLowerCase() === name)
    const isThere = headers.get(name) != null
    if (isThere && !isDescribed) fail(`the document does not describe the header ${name}`)
    if (!isThere && isDescribed && !SOMETIMES.includes(name)) fail(`the described header ${name} is missing`)
  }
  const schema = method === 'HEAD' ? undefined : documented.content?.['application/json']?.schema
  if (!schema && text !== '') fail('the document describes no body')
  if (schema && !ajv.validate(schema, JSON.parse(text))) fail(ajv.errorsText())
}

/** The operations of the first path template of the document that matches `path`. */
function operationsAt(path: string) {
  const found = Object.keys(document.paths).find(template =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  return found === undefined ? undefined : document.paths[found]
}

/** The schema with references into the document, and without additional properties in objects. */
function closed<T extends object>(schema: T): T {
  return JSON.parse(JSON.stringify(schema), (key, value) => {
    if (key === '$ref') return `openapi${value}`
    return value?.type === 'object' && value.properties ? { ...value, additionalProperties: false } : value
  })
}
