import { sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import { type Answer, apiError, COMPRESSIBLE, errorAnswer, type HttpError } from '../answers.ts'
import type { ListQuery } from '../contract.ts'
import { rawStatement, rowOf, text } from '../database/statement.ts'
import { ACCESS, accessOf, requireAccess } from './access.ts'
import { disclosureOf, isRecorded, recording } from './disclosure.ts'
import { type ApiRequest, readPage } from './page.ts'
import type { Standby } from './standby.ts'

/**
 * GET /api/v1/ax/assessments (contract L5). Documents are joined, never parsed. Throws HttpError 401 or 400.
 * @param linkTo the header with the address of the next page, for the number of all records
 */
export async function listAssessments(
  request: ApiRequest,
  query: ListQuery,
  linkTo: (count: number) => { link?: string },
  standby: Standby | undefined,
): Promise<Answer> {
  const page = await (standby ? standby.page(request, query) : readPage(request, query))
  const { access, count, documents, size, shown } = page
  const meta = JSON.stringify({ count, offset: query.offset, page: query.page })
  return {
    status: 200,
    headers: { ...COMPRESSIBLE, ...linkTo(count) },
    // Joined, the documents would be copied into new memory: a tenth of the time of a page.
    body: ['{"data":[', documents, `],"meta":${meta}}`],
    logFields: { clientId: access.clientId, records: size },
    ...disclosureOf(access.clientId, shown, query.filter),
  }
}

/** GET /api/v1/ax/assessments/:id (contract G1): a record in the scope, or 404. Throws HttpError 401 or 400. @param id within bigint */
export async function retrieveAssessment(
  { db, memory, tokenDigest }: ApiRequest,
  id: string,
): Promise<Answer> {
  const [found] = await retrieve(db, { id, tokenDigest })
  const row = retrieved.read(found)
  const access = accessOf(row)
  memory.noteAccess(tokenDigest, access)
  const { clientId } = access
  if (!row.document) return errorAnswer(assessmentNotFound(), { clientId })
  const shown = { assessments: `{${id}}`, people: `{${text(row.educator)}}` }
  return {
    status: 200,
    headers: COMPRESSIBLE,
    body: [row.document],
    logFields: { clientId, records: 1 },
    ...disclosureOf(clientId, isRecorded(row.recording, clientId) ? shown : undefined, {}),
  }
}

/** The row of a record, which any live token has. */
const retrieved = rowOf({ ...ACCESS, document: sql`${r.document}`, educator: sql`${r.userId}`, recording })

const retrieve = rawStatement(sql`
  select ${retrieved.list}
  from live_tokens as token
  left join ${r} on ${r.id} = ${sql.placeholder('id')}::bigint
    and ${r.productId} = any (token.product_ids)
    and ${r.organizationId} = any (token.organization_ids)
  where token.digest = ${sql.placeholder('tokenDigest')}::bytea`)

/** Answers with the error only if the token is live and its integration is provisioned (docs/decisions.md, "Answers"). */
export async function refuse({ db, tokenDigest }: ApiRequest, error: HttpError): Promise<Answer> {
  const { access } = await requireAccess(db, tokenDigest)
  return errorAnswer(error, { clientId: access.clientId })
}

/** One text for an id outside the scope, the id of a part, and no id at all. */
export function assessmentNotFound(): HttpError {
  return apiError(404, 'Assessment not found')
}
