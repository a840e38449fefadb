import { apiError, type HttpError, jsonResponse, withFacts } from '../answers.ts'
import type { Runner } from '../postgres/statement.ts'
import { isBigint } from './conditions.ts'
import { nextLink } from './next-link.ts'
import { type Reader, readPage } from './page.ts'
import type { PageMemory } from './page-memory.ts'
import { parseListQuery } from './parse.ts'
import { selectDocument } from './queries.ts'

/** An answer, and what the statement that found it says of the reader. */
export interface Answer {
  /**
   * The digest of the scope under which the reader's token was live in the snapshot of the answer; null if it was
   * not live; undefined if nothing was asked of the database.
   */
  caller: string | null | undefined
  /** Throws where the answer is an error. */
  respond(): Response
}

/**
 * GET /api/v1/ax/assessments (spec 4.2): `queryString` is the raw one, without its "?".
 * The documents are finished JSON; they are joined and sent, never parsed.
 */
export async function listAssessments(
  db: Runner,
  memory: PageMemory,
  reader: Reader,
  queryString: string,
): Promise<Answer> {
  const query = parseListQuery(queryString)
  const page = await readPage(db, memory, reader, query)
  const { count, documents, size } = page ?? { count: 0, documents: new Uint8Array(), size: 0 }
  const meta = JSON.stringify({ count, offset: query.offset, page: query.page })
  return {
    caller: page?.caller,
    respond: () =>
      withFacts(jsonResponse(200, bodyOf(documents, meta), nextLink(queryString, query, count)), {
        records: size,
      }),
  }
}

function bodyOf(documents: Uint8Array, meta: string): Uint8Array<ArrayBuffer> {
  return Buffer.concat([Buffer.from('{"data":['), documents, Buffer.from(`],"meta":${meta}}`)])
}

/** GET /api/v1/ax/assessments/:id (spec 4.3). Whatever is not the id of a record in the scope is not found. */
export async function retrieveAssessment(db: Runner, reader: Reader, id: string): Promise<Answer> {
  const isId = /^\d+$/.test(id) && isBigint(id)
  const found = isId ? await selectDocument(db, reader.tokenDigest, id) : undefined
  return {
    caller: isId ? (found?.caller ?? null) : undefined,
    respond: () => {
      if (!found?.document) throw assessmentNotFound()
      return withFacts(jsonResponse(200, found.document), { records: 1 })
    },
  }
}

/** Whatever the reason: outside the scope, a part's id, or no id at all. */
export function assessmentNotFound(): HttpError {
  return apiError(404, 'Assessment not found')
}
