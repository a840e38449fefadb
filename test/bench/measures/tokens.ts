import { pgbench, WITHOUT_PGBENCH } from '../programs.ts'
import { compare } from '../rounds.ts'
import { broadScope } from '../scopes.ts'
import { TOKEN, tokenRequest } from '../service.ts'
import { type Measure, onStage } from '../stage.ts'

/** Tokens issued, against pgbench inserting the same row without asking who wants it. */
export const tokens: Measure = {
  name: 'tokens',
  async run(world) {
    const { rounds, seconds } = world.options
    const scope = await broadScope(world.sql)
    const { client_id } = await world.provision(world.databaseUrl, scope)
    const [secret] = await world.sql<{ id: string }[]>`
      select s.id from integration_secrets s join integrations i on i.id = s.integration_id
      where i.client_id = ${client_id}`
    const insert = {
      text: `insert into access_tokens (digest, secret_id, created_at, expires_at)
        values (sha256(uuid_send(gen_random_uuid())), $1, now(), now() + interval '2 hours')
        returning floor(extract(epoch from created_at))::bigint`,
      parameters: [secret?.id ?? null],
      session: {},
    }
    const limit = pgbench(world.databaseUrl, insert, world.options)
    const compared = await onStage(world, scope, async ({ credentials, rate }) => {
      const request = { method: 'POST' as const, paths: [TOKEN], ...tokenRequest(credentials) }
      await rate({ ...request, seconds: Math.min(1, seconds) })
      return await compare(rounds, () => rate(request), limit)
    })
    return [
      {
        measure: 'tokens issued ÷ pgbench inserting the same row',
        ...compared,
        unit: '/s',
        beside: 'pgbench',
        reach: { of: 'ratio', atLeast: 0.6 },
        note: limit ? 'aim: 0.8' : WITHOUT_PGBENCH,
      },
    ]
  },
}
