import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { type Credentials, rotateSecret } from '../../src/integrations/credentials.ts'
import { deleteIntegration, setDisabled } from '../../src/integrations/lifecycle.ts'
import { changeScope } from '../../src/integrations/scope.ts'
import {
  type Answer,
  getList,
  ids,
  provision,
  requestToken,
  UNKNOWN_TOKEN,
  useTwoServices,
} from '../support/operator.ts'
import { until } from '../support/until.ts'

/**
 * A token that is issued while an operator takes something away. The transaction of the one that is first pauses before its
 * commit, until the other one waits for it or is done.
 */

const services = useTwoServices()
const GRACE_SECONDS = 60
const PAUSE = 13

beforeAll(async () => {
  await services.sql.unsafe(`
    create function pause() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(${PAUSE}); return null; end $$`)
})
afterEach(async () => {
  for (const table of ['access_tokens', 'integrations', 'integration_secrets'])
    await services.sql`drop trigger if exists pause on ${services.sql(table)}`
})

/** Runs `first` up to its commit, then `second` as far as it comes, then both to their ends. */
async function across<First, Second>(
  tables: string[],
  first: () => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, Second]> {
  for (const table of tables)
    await services.sql.unsafe(`
      create constraint trigger pause after insert or update or delete on ${table}
        deferrable initially deferred for each row execute function pause()`)
  const holder = await services.sql.reserve()
  const isWaiting = async (condition: string) => {
    const { count } = await holder.unsafe(`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and wait_event ${condition} 'advisory'`)
    return count > 0
  }
  let both: Promise<[First, Second]>
  try {
    await holder`select pg_advisory_lock(${PAUSE})`
    const firstResult = first()
    await until('the first is about to commit', () => isWaiting('='))
    let isDone = false
    const secondResult = second().finally(() => {
      isDone = true
    })
    both = Promise.all([firstResult, secondResult])
    await until('the second waits or is done', async () => isDone || (await isWaiting('<>')))
  } finally {
    await holder`select pg_advisory_unlock_all()`
    holder.release()
  }
  return await both
}

/** The list as the token of an answer reads it, or as an unknown token if the answer has none. */
const listOf = ({ body }: Answer) => getList(services.baseUrls[0], String(body.access_token ?? UNKNOWN_TOKEN))

const expectDead = async (answer: Answer) => {
  expect(answer.status).toBeOneOf([200, 401])
  expect((await listOf(answer)).status).toBe(401)
}

/** Moves the end of the grace into the past. */
const endGrace = async ({ clientId }: Credentials) => {
  await services.sql`
    update integration_secrets s set expires_at = now()
    from integrations i where i.id = s.integration_id and i.client_id = ${clientId} and s.expires_at is not null`
}

interface Change {
  /** The command of an operator. */
  change(sql: Sql, clientId: string): Promise<unknown>
  /** Holds after the change and the token. */
  expectTaken(answer: Answer, credentials: Credentials): Promise<void>
}

const CHANGES: [string, Change][] = [
  [
    'is dead while its integration is disabled',
    { change: (sql, clientId) => setDisabled(sql, clientId, true), expectTaken: expectDead },
  ],
  [
    'reads no more than the narrowed scope',
    {
      change: (sql, clientId) => changeScope(sql, clientId, { remove: ['10'] }, {}),
      expectTaken: async answer => expect(ids(await listOf(answer))).toEqual([9002]),
    },
  ],
  [
    'ends with the grace of its rotated secret',
    {
      change: (sql, clientId) => rotateSecret(sql, clientId, { graceSeconds: GRACE_SECONDS }),
      async expectTaken(answer, credentials) {
        expect(ids(await listOf(answer))).toHaveLength(3)
        await endGrace(credentials)
        await expectDead(answer)
      },
    },
  ],
  [
    'ends with its secret that is rotated without a grace',
    { change: (sql, clientId) => rotateSecret(sql, clientId, {}), expectTaken: expectDead },
  ],
  [
    'ends with its deleted integration',
    { change: (sql, clientId) => deleteIntegration(sql, clientId), expectTaken: expectDead },
  ],
]

describe.each(CHANGES)('a token %s,', (_, { change, expectTaken }) => {
  test('issued before the change is committed', async () => {
    const credentials = await provision(services.sql)
    const [answer] = await across(
      ['access_tokens'],
      () => requestToken(services.baseUrls[0], credentials),
      () => change(services.otherSql, credentials.clientId),
    )
    await expectTaken(answer, credentials)
  })

  test('requested while the change is not committed', async () => {
    const credentials = await provision(services.sql)
    const [, answer] = await across(
      ['integrations', 'integration_secrets'],
      () => change(services.otherSql, credentials.clientId),
      () => requestToken(services.baseUrls[0], credentials),
    )
    await expectTaken(answer, credentials)
  })
})
