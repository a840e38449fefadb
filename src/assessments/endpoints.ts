import { apiError, jsonResponse, withFacts } from '../answers.ts'
import type { Runner } from '../postgres/statement.ts'
import { parseListQuery } from './parse.ts'
import { isBigint, type Scope, selectDocument, selectPage } from './queries.ts'

/**
 * GET /api/v1/ax/assessments (spec 4.2): `queryString` is the raw one, without its "?".
 * The documents are finished JSON; they are joined and sent, never parsed.
 */
export async function listAssessments(db: Runner, scope: Scope, queryString: string): Promise<Response> {
  const query = parseListQuery(queryString)
  const { count, documents } = await selectPage(db, scope, query)
  const meta = JSON.stringify({ count, offset: query.offset, page: query.page })
  const records = Math.min(query.page, Math.max(0, count - query.offset))
  return withFacts(jsonResponse(200, `{"data":[${documents}],"meta":${meta}}`), { records })
}

/** GET /api/v1/ax/assessments/:id (spec 4.3). Whatever is not the id of a record in the scope is not found. */
export async function retrieveAssessment(db: Runner, scope: Scope, id: string): Promise<Response> {
  const document = /^\d+$/.test(id) && isBigint(id) ? await selectDocument(db, scope, id) : undefined
  if (document === undefined) throw apiError(404, 'Assessment not found')
  return withFacts(jsonResponse(200, document), { records: 1 })
}
