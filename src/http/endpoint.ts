import type { AnyElysia } from 'elysia'
import type { Answer, ErrorStyle } from '../answers.ts'
import type { BodyLimits } from '../oauth/body.ts'
import { answerOf, methodNotAllowed } from './errors.ts'
import { respond } from './respond.ts'

/** What one client may take of the service. Sizes in bytes. */
export interface Limits extends BodyLimits {
  /** Requests that are answered at the same time: 503 past it. */
  requests: number
  /** Request line and headers together: 431, by Bun itself. */
  headerSize: number
  /** Of a connection without traffic, including when its client does not read: it is closed. */
  idleMs: number
  /** The reference page: without forms, with forms that send requests, or no page. */
  docs: 'on' | 'try' | 'off'
}

/** The parameter of the path, and for the endpoints of the API the token of the header; each empty if there is none. */
export interface Given {
  id: string
  token: string
}

/** A path of the service with its one method; HEAD goes with GET. */
export interface Endpoint {
  path: string
  method: 'GET' | 'POST'
  answer(request: Request, given: Given): Answer | Promise<Answer>
  /** The form of the errors of this path. */
  style: ErrorStyle
}

/** Adds the routes of an endpoint, and refuses the other methods of its path. */
export function mount(app: AnyElysia, { path, method, answer, style }: Endpoint): void {
  // Elysia's own HEAD would drop the headers of a GET.
  for (const verb of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
    // Elysia reads the names in the braces from the source: with `body` it would parse the body. It parses the query for
    // the bearer plugin.
    app.route(verb, path, async ({ request, params, bearer }) => {
      try {
        return await respond(request, await answer(request, { id: params?.id ?? '', token: bearer ?? '' }))
      } catch (error) {
        return await respond(request, answerOf(request, error, style))
      }
    })
  }
  app.all(path, ({ request }) => respond(request, answerOf(request, methodNotAllowed(method, style), style)))
}
