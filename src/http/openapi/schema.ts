import { ErrorsBody, OAuthErrorBody } from '../../answers.ts'
import { AssessmentList, AssessmentRecord, ResultPart } from '../../assessments/record.ts'
import { TokenParameters } from '../../oauth/credentials.ts'
import { TokenResponse } from '../../oauth/endpoint.ts'

/** A part of the document: what JSON.stringify takes. */
export type Json = { [name: string]: unknown }

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
export function refTo(name: SchemaName): Json {
  return { $ref: `#/components/schemas/${name}` }
}

/** Every named schema, each referring to the others by name. */
export function namedSchemas(): Json {
  return Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, inner(schema)]))
}

/** A schema of the code as one of the document: the same, with references, and with choices of texts as enum. */
export function schemaOf(schema: unknown): unknown {
  const named = Object.entries(NAMED).find(([, known]) => known === schema)
  return named ? refTo(named[0] as SchemaName) : inner(schema)
}

function inner(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(schemaOf)
  if (typeof schema !== 'object' || schema === null) return schema
  const { anyOf, ...rest } = schema as { anyOf?: { const?: string }[] }
  if (anyOf?.every(choice => typeof choice.const === 'string')) {
    return { type: 'string', enum: anyOf.map(choice => choice.const), ...rest }
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, schemaOf(value)]))
}
