import { type Credentials, TOKEN, tokenRequest } from '../../support/http.ts'
import { besidePgbench } from '../programs.ts'
import { broadScope } from '../scopes.ts'
import { type Measure, onStage } from '../stage.ts'

/** Tokens issued, against pgbench inserting the same row without asking who wants it. */
export const tokens: Measure = {
  name: 'tokens',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { client_id } = await world.provision(world.databaseUrl, scope)
    const [secret] = await world.sql<{ id: string }[]>`
      select s.id from integration_secrets s join integrations i on i.id = s.integration_id
      where i.client_id = ${client_id}`
    const insert = {
      text: `insert into access_tokens (digest, secret_id, created_at, expires_at)
        values (sha256(uuid_send(gen_random_uuid())), :secret, now(), now() + interval '2 hours')
        returning floor(extract(epoch from created_at))::bigint`,
      values: { secret: secret?.id ?? '' },
      aim: 0.8,
    }
    const figures = await onStage(world, scope, async ({ credentials, rate, warmUp }) => {
      const job = tokenJob(credentials)
      await warmUp(job)
      return await besidePgbench(world, insert, () => rate(job))
    })
    const measure = 'tokens issued ÷ pgbench inserting the same row'
    return [{ measure, ...figures, reach: { of: 'ratio', atLeast: 0.6 } }]
  },
}

/** What the load asks for tokens. */
export function tokenJob(credentials: Credentials) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams(tokenRequest(credentials)).toString()
  return { method: 'POST' as const, paths: [TOKEN], headers, body }
}
