import { ErrorsBody, OAuthErrorBody } from '../../answers.ts'
import { AssessmentList, AssessmentRecord, ResultPart } from '../../contract.ts'
import { TokenParameters } from '../../oauth/credentials.ts'
import { TokenResponse } from '../../oauth/endpoint.ts'
import type { Schema } from './types.ts'

/** The schemas that have a name in the document. */
const NAMED = {
  AssessmentList,
  AssessmentRecord,
  ResultPart,
  TokenRequest: TokenParameters,
  TokenResponse,
  ApiError: ErrorsBody,
  OAuthError: OAuthErrorBody,
}
export type SchemaName = keyof typeof NAMED

/** A reference to a named schema. */
export function refTo(name: SchemaName): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** Every named schema, with references to the others. */
export function namedSchemas(): Record<string, Schema> {
  return Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, withRefs(schema) as Schema]))
}

/** A copy of a schema in which named ones are references. */
function withRefs(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withRefs)
  if (typeof schema !== 'object' || schema === null) return schema
  const copies = Object.entries(schema).map(([key, value]) => {
    const named = Object.entries(NAMED).find(([, known]) => known === value)
    return [key, named ? refTo(named[0] as SchemaName) : withRefs(value)]
  })
  return Object.fromEntries(copies)
}
