import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { invalidToken } from '../assessments/access.ts'
import { sha256 } from '../random.ts'

/** The plugin would take a token from the query too (RFC 9700 §4.3.2): under a name that nobody can know it finds none. */
const unguessable = () => crypto.randomUUID()

/**
 * Everything behind it has `tokenDigest`: of a token that has the form of ours, whoever it belongs to. The statement that
 * does the work says itself, in its own snapshot, what the token gives access to. So a revoked token is refused, and a
 * changed scope honoured, by the very next request on every process.
 * @throws HttpError 401 invalid_token
 */
export function guard() {
  return new Elysia({ name: 'guard' })
    .derive({ as: 'scoped' }, ({ headers }) => {
      // RFC 9110 §11.1: the scheme is case-insensitive. The plugin compares it exactly.
      const scheme = /^bearer +/i
      headers.authorization = headers.authorization?.replace(scheme, 'Bearer ')
    })
    .use(bearer({ extract: { header: 'Bearer', query: unguessable(), body: unguessable() } }))
    .derive({ as: 'scoped' }, ({ headers, bearer: token }) => {
      if (!headers.authorization?.startsWith('Bearer ')) throw invalidToken('absent')
      if (!isToken(token)) throw invalidToken('presented')
      return { tokenDigest: sha256(token) }
    })
}

/** The form of our own tokens; what looks otherwise needs no question to the database. */
function isToken(text: string | undefined): text is string {
  return text !== undefined && /^[A-Za-z0-9]{43}$/.test(text)
}
