import { type Answer, apiError, HttpError } from '../answers.ts'
import { tokenDigestOf } from '../assessments/access.ts'
import { listAssessments, retrieveAssessment } from '../assessments/endpoints.ts'
import { PageMemory, type Patience } from '../assessments/page-memory.ts'
import type { Standby } from '../assessments/standby.ts'
import type { Counters } from '../counters.ts'
import type { ServingDatabase } from '../database/pool.ts'
import type { Runner } from '../database/statement.ts'
import { endedToken } from '../oauth/tokens.ts'
import { NOBODY } from './admission.ts'
import { Disclosing } from './disclosing.ts'
import type { Endpoint, Given } from './endpoint.ts'
import { answerOf } from './errors.ts'
import { LastUse } from './last-use.ts'
import { originOf } from './request-log.ts'
import { requesterOf } from './requester.ts'

export const LIST = '/api/v1/ax/assessments'
export const RETRIEVE = '/api/v1/ax/assessments/:id'

/** Answers a request from the database, with what is remembered of pages. */
type Read = (db: Runner, memory: PageMemory, tokenDigest: Uint8Array, patience: Patience) => Promise<Answer>

/** The two endpoints of the API. Pages are read from the standby, if there is one. */
export function assessmentEndpoints(db: ServingDatabase, counters: Counters, standby?: Standby): Endpoint[] {
  const memory = new PageMemory(counters)
  const disclosing = new Disclosing(db)
  const lastUse = new LastUse(db)
  const answerBy = async (request: Request, sent: string, read: Read): Promise<Answer> => {
    const tokenDigest = tokenDigestOf(sent)
    const requester = requesterOf(request, db.bounds)
    const clientId = memory.accessOf(tokenDigest)?.clientId ?? NOBODY
    const { admission, refusals } = originOf(request).monitor
    return await admission.admit(apiError, clientId, async () => {
      const answer = await read(db.forRequest(requester, clientId), memory, tokenDigest, requester).catch(
        async (error: unknown) => {
          // What is refused in a storm must cost little.
          const isCheap = db.isBusy() || refusals.areMany
          const known = isCheap ? error : await named(db.forRequest(requester), tokenDigest, error)
          return answerOf(request, known, apiError)
        },
      )
      // An answer names a client only if its token is live, or was.
      if (answer.logFields?.clientId && answer.status !== 401) lastUse.note(tokenDigest)
      return await disclosing.recorded(request, answer)
    })
  }
  const list = (request: Request, { token }: Given) =>
    answerBy(request, token, (...read) => listAssessments(...read, queryString(request), standby))
  const retrieve = (request: Request, { id, token }: Given) =>
    answerBy(request, token, (db, memory, digest) => retrieveAssessment(db, memory, digest, id))
  return [
    { path: LIST, method: 'GET', style: apiError, answer: list },
    { path: RETRIEVE, method: 'GET', style: apiError, answer: retrieve },
  ]
}

/**
 * A 401 with whose token it was, for the log: the client gets the same answer for each token that is not live. It takes a
 * statement more, which does not wait for a connection when others need them.
 */
async function named(db: Runner, tokenDigest: Buffer, error: unknown): Promise<unknown> {
  if (!(error instanceof HttpError) || error.httpStatus !== 401) return error
  const ended = await endedToken(db, tokenDigest).catch(() => undefined)
  if (!ended) return error
  const logFields = { clientId: ended.clientId, refused: [`invalid_token: ${ended.why}`] }
  return new HttpError(401, error.body, error.headers, logFields)
}

/** As it was sent: Elysia's parser splits at commas, reads lists in brackets, and keeps bad escapes. */
const queryString = ({ url }: Request) => url.replace(/^[^?]*\??/, '')
