import Ajv from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { readLimits } from '../../src/cli/serve-settings.ts'
import { openApiDocument } from '../../src/http/openapi/document.ts'

/** What of the document is looked at here. */
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Documented> }>>
  components: object
}

interface Documented {
  headers?: Record<string, object>
  content?: Record<string, { schema: object }>
}

/** Headers that are described where they are there, and there where they are described: but for `link`. */
const MEANINGFUL = ['allow', 'link', 'retry-after', 'vary', 'www-authenticate', 'x-request-id']

const document = closed(openApiDocument(readLimits({}).http)) as unknown as Document
const ajv = addFormats(new Ajv({ strict: false, allErrors: true }))
ajv.addSchema({ $id: 'openapi', components: document.components })

/**
 * Throws unless the OpenAPI document says that a request may be answered like this: the status is one of the
 * operation, the body is of its schema and has nothing else, and the headers are the described ones. HEAD and methods
 * that there are not are looked up under the method that there is. A path that is not described has to be 404.
 */
export function expectDocumented(
  method: string,
  target: string,
  answer: { status: number; headers: { get(name: string): string | null | undefined }; text: string },
): void {
  const { status, headers, text } = answer
  const complain = (what: string): never => {
    throw new Error(`${method} ${target} was answered with ${status}, and ${what}: ${text.slice(0, 500)}`)
  }
  const operations = operationsAt(target.split('?', 1)[0] as string)
  if (!operations) {
    if (status !== 404) complain('its path is not in the document')
    return
  }
  const [operation] = Object.values(operations)
  const documented = operation?.responses[status] ?? complain('that is not documented')
  for (const name of MEANINGFUL) {
    const isDescribed = Object.keys(documented.headers ?? {}).some(known => known.toLowerCase() === name)
    const isThere = headers.get(name) != null
    if (isThere && !isDescribed) complain(`the header ${name} is not described`)
    if (!isThere && isDescribed && name !== 'link') complain(`the header ${name} is missing`)
  }
  const schema = method === 'HEAD' ? undefined : documented.content?.['application/json']?.schema
  if (!schema && text !== '') complain('it has a body')
  if (schema && !ajv.validate(schema, JSON.parse(text))) complain(ajv.errorsText())
}

/** The operations of the first path of the document that a path matches. */
function operationsAt(path: string) {
  const found = Object.keys(document.paths).find(template =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  return found === undefined ? undefined : document.paths[found]
}

/** The same schema with references into the document, and objects that take nothing but what is described. */
function closed<T extends object>(schema: T): T {
  return JSON.parse(JSON.stringify(schema), (key, value) => {
    if (key === '$ref') return `openapi${value}`
    return value?.type === 'object' && value.properties ? { ...value, additionalProperties: false } : value
  })
}
