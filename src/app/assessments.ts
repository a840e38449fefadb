import { bearer } from '@elysiajs/bearer'
import { Elysia, type ValidationError } from 'elysia'
import { apiError, HttpError } from '../answers.ts'
import { tokenDigestOf } from '../assessments/access.ts'
import { assessmentNotFound, listAssessments, refuse, retrieveAssessment } from '../assessments/endpoints.ts'
import type { Standby } from '../assessments/standby.ts'
import { ListQuery, RecordPath } from '../contract.ts'
import type { Counters } from '../counters.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { apiHandler } from './api-handler.ts'
import { HIDDEN, listDetail, recordDetail } from './docs/described.ts'
import { failureAnswer, notAllowed, unreadableParameters } from './errors.ts'
import { nextLink } from './next-link.ts'
import { pairsIn, sentIn } from './query-string.ts'

export const LIST = '/api/v1/ax/assessments'
export const RETRIEVE = '/api/v1/ax/assessments/:id'

/**
 * The two endpoints of the API. Pages are read from the standby, if there is one. Each hook names what it takes: of one
 * that takes the whole context, Elysia believes that it needs cookies, parses them, and makes each Response a second time.
 */
export function assessments(db: ServingDatabase, counters: Counters, standby?: Standby) {
  const answer = apiHandler(db, counters)
  return (
    new Elysia({ name: 'assessments' })
      // Before the token is looked at: a wrong method needs none.
      .all(LIST, ({ request }) => notAllowed(request, 'GET, HEAD', apiError), HIDDEN)
      .all(RETRIEVE, ({ request }) => notAllowed(request, 'GET, HEAD', apiError), HIDDEN)
      // RFC 9110 §11.1: the scheme is case-insensitive, and ends with a blank. The plugin compares "Bearer" alone, and
      // without that word it looks into the query, which RFC 9700 §4.3.2 forbids: so it always finds the word.
      .derive(({ headers }) => {
        const [, token = ''] = /^bearer +(.*)$/i.exec(headers.authorization ?? '') ?? []
        headers.authorization = `Bearer ${token}`
      })
      .use(bearer())
      .derive(({ bearer }) => ({ tokenDigest: tokenDigestOf(bearer ?? '') }))
      .onError(async ({ code, error, request, tokenDigest }) => {
        const wrong = code === 'VALIDATION' ? refusalOf(error) : error
        // What cannot be read is told to a live token alone (docs/decisions.md, "Answers").
        return tokenDigest && wrong instanceof HttpError && wrong.httpStatus < 500
          ? await answer(request, tokenDigest, asked => refuse(asked, wrong))
          : failureAnswer(request, wrong, apiError)
      })
      .get(
        RETRIEVE,
        ({ params, request, tokenDigest }) =>
          answer(request, tokenDigest, asked => retrieveAssessment(asked, params.id)),
        { params: RecordPath, detail: recordDetail() },
      )
      // Elysia's own query splits at commas, reads lists in brackets, and keeps bad escapes. So the validator gets another
      // one, and the handler the pairs as they were sent, of which the address of the next page is made.
      .derive(({ request }) => {
        const pairs = pairsIn(request.url.replace(/^[^?]*\??/, ''))
        return { pairs, query: sentIn(pairs) }
      })
      .get(
        LIST,
        ({ pairs, query, request, tokenDigest }) =>
          answer(request, tokenDigest, asked =>
            listAssessments(asked, query, count => nextLink(pairs, query, count), standby),
          ),
        { query: ListQuery, detail: listDetail() },
      )
  )
}

/** The 404 of a path, or the 400 of a query. */
const refusalOf = ({ type, all }: Pick<ValidationError, 'type' | 'all'>): HttpError =>
  type === 'params' ? assessmentNotFound() : unreadableParameters(all)
