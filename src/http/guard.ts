import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'

/** The plugin would take a token from the query too (RFC 9700 §4.3.2): under a name that nobody can know it finds none. */
const unguessable = () => crypto.randomUUID()

/** Gives the routes behind it the `token` of the Authorization header; undefined where the header has none. */
export function guard() {
  return new Elysia({ name: 'guard' })
    .derive({ as: 'scoped' }, ({ headers }) => {
      // RFC 9110 §11.1: the scheme is case-insensitive. The plugin compares it exactly.
      headers.authorization = headers.authorization?.replace(/^bearer +/i, 'Bearer ')
    })
    .use(bearer({ extract: { header: 'Bearer', query: unguessable(), body: unguessable() } }))
    .derive({ as: 'scoped' }, ({ headers, bearer: token }) => ({
      // The plugin also takes a header that has no blank behind the scheme.
      token: headers.authorization?.startsWith('Bearer ') ? token : undefined,
    }))
}
