import type { Answer } from '../answers.ts'
import { compressed } from './compress.ts'
import { noteAnswer } from './request-log.ts'

/** What every answer carries: nobody caches personal data, nobody guesses at content types. */
const COMMON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
}

/** The edge: the only place where an answer becomes a Response, and where the request log learns of it. */
export function respond(request: Request, answer: Answer): Response {
  const { body, headers } = compressed(answer, request.headers.get('accept-encoding'))
  const bytes = Buffer.byteLength(body)
  const ours = noteAnswer(request, answer, bytes)
  return new Response(body, {
    status: answer.status,
    headers: { ...COMMON_HEADERS, 'content-length': String(bytes), ...headers, ...ours },
  })
}
