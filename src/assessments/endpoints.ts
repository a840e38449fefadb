import { type Answer, apiError, COMPRESSIBLE, errorAnswer, type HttpError } from '../answers.ts'
import type { Runner } from '../postgres/statement.ts'
import { type Refusal, requireAccess } from './access.ts'
import { isBigint } from './conditions.ts'
import { nextLink } from './next-link.ts'
import { readPage } from './page.ts'
import type { PageMemory } from './page-memory.ts'
import { type ListParameters, queryOf } from './parameters.ts'
import { readRecord } from './queries.ts'

/** What a request comes to: an answer for an integration, or why there is none. */
export type Outcome = Refusal | { kind: 'answer'; answer: Answer }

/**
 * GET /api/v1/ax/assessments (spec 4.2). `queryString` is what the parameters were read from, for the next page's.
 * The documents are finished JSON; they are joined and sent, never parsed.
 */
export async function listAssessments(
  db: Runner,
  memory: PageMemory,
  tokenDigest: Uint8Array,
  parameters: ListParameters,
  queryString: string,
): Promise<Outcome> {
  const query = queryOf(parameters)
  const page = await readPage(db, memory, tokenDigest, query)
  if (page.kind !== 'page') return page
  const { clientId, count, documents, size } = page
  const meta = JSON.stringify({ count, offset: query.offset, page: query.page })
  const body = Buffer.concat([Buffer.from('{"data":['), documents, Buffer.from(`],"meta":${meta}}`)])
  const headers = { ...COMPRESSIBLE, ...nextLink(queryString, query, count) }
  return { kind: 'answer', answer: { status: 200, headers, body, facts: { clientId, records: size } } }
}

/** GET /api/v1/ax/assessments/:id (spec 4.3). Whatever is not the id of a record in the scope is not found. */
export async function retrieveAssessment(db: Runner, tokenDigest: Uint8Array, id: string): Promise<Outcome> {
  if (!/^\d+$/.test(id) || !isBigint(id)) return await refused(db, tokenDigest, assessmentNotFound())
  const found = await readRecord(db, tokenDigest, id)
  if (found.kind === 'unauthorized' || found.kind === 'unprovisioned') return found
  const { clientId } = found
  if (found.kind === 'absent')
    return { kind: 'answer', answer: errorAnswer(assessmentNotFound(), { clientId }) }
  const body = Buffer.from(found.document)
  const facts = { clientId, records: 1 }
  return { kind: 'answer', answer: { status: 200, headers: COMPRESSIBLE, body, facts } }
}

/** What is wrong with a request is told to those alone who may ask: token and provisioning come first (design §5). */
export async function refused(db: Runner, tokenDigest: Uint8Array, error: HttpError): Promise<Outcome> {
  const access = await requireAccess(db, tokenDigest)
  if (access.kind !== 'access') return access
  return { kind: 'answer', answer: errorAnswer(error, { clientId: access.clientId }) }
}

/** Whatever the reason: outside the scope, a part's id, or no id at all. */
export function assessmentNotFound(): HttpError {
  return apiError(404, 'Assessment not found')
}
