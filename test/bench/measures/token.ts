import { TOKEN, tokenRequest } from '../../support/http.ts'
import { broadScope } from '../scopes.ts'
import type { Measure } from '../turns.ts'

/** Issued tokens. */
export const token: Measure = {
  name: 'token',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    const client = await side.serve(scope)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams(tokenRequest(await side.provision(scope))).toString()
    const job = { method: 'POST' as const, paths: [TOKEN], headers, body }
    await client.warmUp(job)
    return async () => ({ 'tokens issued a second': await client.rate(job) })
  },
}
