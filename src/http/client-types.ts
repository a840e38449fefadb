import type { TUnsafe } from '@sinclair/typebox'
import { ErrorsBody, OAuthErrorBody } from '../answers.ts'
import type { ListParameters } from '../assessments/parameters.ts'
import { AssessmentList, AssessmentRecord } from '../assessments/record.ts'
import type { TokenParameters } from '../oauth/credentials.ts'
import { TokenResponse } from '../oauth/endpoint.ts'

/**
 * What the routes tell a typed client (Eden). The framework checks none of it: all answers are finished
 * responses, and queries and bodies are read by our own parsers, so that their schemas are there as types alone.
 */

const errors = { 400: ErrorsBody, 401: OAuthErrorBody, 500: ErrorsBody, 503: ErrorsBody, 504: ErrorsBody }

/** GET /api/v1/ax/assessments */
export const listTypes = { response: { 200: AssessmentList, ...errors } } as {
  response: { 200: typeof AssessmentList } & typeof errors
  // Spelled out, so that the declared type names no file of ours.
  query: TUnsafe<{ [Name in keyof ListParameters]: ListParameters[Name] }>
}

/** GET /api/v1/ax/assessments/:id */
export const retrieveTypes = { response: { 200: AssessmentRecord, ...errors, 404: ErrorsBody } }

/** POST /oauth/token */
export const tokenTypes = {
  response: {
    200: TokenResponse,
    400: OAuthErrorBody,
    401: OAuthErrorBody,
    500: OAuthErrorBody,
    503: OAuthErrorBody,
    504: OAuthErrorBody,
  },
} as {
  response: { 200: typeof TokenResponse } & Record<400 | 401 | 500 | 503 | 504, typeof OAuthErrorBody>
  body: typeof TokenParameters
}
