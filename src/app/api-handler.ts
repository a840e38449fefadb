import { type Answer, apiError, HttpError } from '../answers.ts'
import type { ApiRequest } from '../assessments/page.ts'
import { PageMemory } from '../assessments/page-memory.ts'
import type { Counters } from '../counters.ts'
import type { ServingDatabase } from '../database/pool.ts'
import type { Runner } from '../database/statement.ts'
import { endedToken } from '../oauth/tokens.ts'
import { NOBODY } from './admission.ts'
import { DisclosureRecorder } from './disclosure-recorder.ts'
import { failureAnswer } from './errors.ts'
import { exchangeOf } from './exchange.ts'
import { LastUse } from './last-use.ts'
import { requestBounds } from './request-bounds.ts'

/** Answers a request from the database. */
type Read = (request: ApiRequest) => Promise<Answer>

/**
 * What is the same for every request with a token: its integration's share of the requests in work, the form of errors, the
 * note that the token was used, and the record of what the answer discloses.
 * @returns a handler, which throws nothing: an error that leaves an onError would reach Bun
 */
export function apiHandler(db: ServingDatabase, counters: Counters) {
  const memory = new PageMemory(counters)
  const recorder = new DisclosureRecorder(db)
  const lastUse = new LastUse(db)
  return async (request: Request, tokenDigest: string, read: Read): Promise<Answer> => {
    const bounds = requestBounds(request, db.bounds)
    const clientId = memory.accessOf(tokenDigest)?.clientId ?? NOBODY
    const { admission, refusals } = exchangeOf(request).service
    const failed = async (error: unknown) => {
      // What is refused in a storm must cost little.
      const isCheap = db.isBusy() || refusals.areMany
      const known = isCheap ? error : await named(db.forRequest(bounds), tokenDigest, error)
      return failureAnswer(request, known, apiError)
    }
    const work = async () => {
      const onPool = db.forRequest(bounds, clientId)
      const answer = await read({ db: onPool, memory, tokenDigest, bounds }).catch(failed)
      // An answer names a client only if its token is live, or was.
      if (answer.logFields?.clientId && answer.status !== 401) lastUse.note(tokenDigest)
      return await recorder.recorded(request, answer)
    }
    return await admission
      .admit(apiError, clientId, work)
      .catch((error: unknown) => failureAnswer(request, error, apiError))
  }
}

/**
 * A 401 with whose token it was, for the log: the client gets the same answer for each token that is not live. It takes a
 * statement more, which does not wait for a connection when others need them.
 */
async function named(db: Runner, tokenDigest: string, error: unknown): Promise<unknown> {
  if (!(error instanceof HttpError) || error.httpStatus !== 401) return error
  const ended = await endedToken(db, tokenDigest).catch(() => undefined)
  if (!ended) return error
  const logFields = { clientId: ended.clientId, refused: [`invalid_token: ${ended.why}`] }
  return new HttpError(401, error.body, error.headers, logFields)
}
