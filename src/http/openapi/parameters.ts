import type { TSchema } from '@sinclair/typebox'
import { ListParameters } from '../../assessments/parameters.ts'
import { type Json, schemaOf } from './schema.ts'

/**
 * The parameters of the list, from the schema that the parser reads them by. Each filter is a parameter of its
 * own, brackets in its name: the style "deepObject" does not say how arrays are written (OpenAPI 3.1.1, §4.12.2).
 */
export function listParameters(): Json[] {
  return Object.entries(ListParameters.properties).map(([name, schema]) => inQuery(name, schema))
}

function inQuery(name: string, { description, ...schema }: TSchema): Json {
  // "form" and "explode" repeat the name for each value. They are the default, and written down for readers.
  const style = schema.type === 'array' ? { style: 'form', explode: true } : {}
  return { name, in: 'query', description, ...style, schema: schemaOf(schema) }
}
