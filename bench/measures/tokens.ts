import { type Credentials, TOKEN, tokenRequest } from '../../test/support/http.ts'
import { type Measure, withService } from '../measured-service.ts'
import { compareWithPgbench } from '../pgbench.ts'
import { broadScope } from '../scopes.ts'

/** Issued tokens, compared with pgbench that inserts the same row without checking a secret. */
export const tokens: Measure = {
  name: 'tokens',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { client_id } = await world.provision(world, scope)
    const [secret] = await world.sql<{ id: string }[]>`
      select s.id from integration_secrets s join integrations i on i.id = s.integration_id
      where i.client_id = ${client_id}`
    const insert = {
      text: `insert into access_tokens (digest, secret_id, created_at, expires_at)
        values (sha256(uuid_send(gen_random_uuid())), :secret, now(), now() + interval '2 hours')
        returning floor(extract(epoch from created_at))::bigint`,
      values: { secret: secret?.id ?? '' },
    }
    const figures = await withService(world, scope, async ({ credentials, rate, warmUp }) => {
      const job = tokenJob(credentials)
      await warmUp(job)
      return await compareWithPgbench(world, insert, () => rate(job))
    })
    const measure = 'tokens issued ÷ pgbench inserting the same row'
    return [{ measure, ...figures, reach: { of: 'ratio', atLeast: 0.5 } }]
  },
}

/** The request of the load for tokens. */
export function tokenJob(credentials: Credentials) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams(tokenRequest(credentials)).toString()
  return { method: 'POST' as const, paths: [TOKEN], headers, body }
}
