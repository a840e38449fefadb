import { expect, test } from 'bun:test'
import { openFirst } from '../../src/postgres/connection/opening.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { timeoutError } from '../../src/postgres/failures.ts'
import { describeAttempt, outcomeOf } from '../../src/postgres/transaction/outcome.ts'
import { newReceipt } from '../../src/postgres/transaction/receipt.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { until } from '../support/until.ts'

const database = useTestDatabase()

test('what a server has said of a transaction counts, also if the last look gets no answer', async () => {
  const url = readPostgresUrl(database.url)
  const running = Promise.withResolvers<Parameters<typeof outcomeOf>[0]>()
  const transaction = database.sql.begin(async sql => {
    running.resolve(await describeAttempt(sql, newReceipt()))
    await sql`select pg_sleep(60)`
  })
  const attempt = await running.promise
  const { pid } = attempt.backend
  await until('it runs a statement', async () => {
    const { count } = await database.sql`
      select from pg_stat_activity where pid = ${pid} and wait_event = 'PgSleep'`
    return count === 1
  })
  // Time for a look; time for another one; no more time after that.
  const left = [60_000, 60_000, 60_000, 0]
  let looks = 0
  const open = (timeoutMs: number) =>
    ++looks === 1 ? openFirst(url, timeoutMs) : Promise.reject(timeoutError())
  const outcome = await outcomeOf(attempt, open, () => left.shift() ?? 0)
  expect({ outcome, looks }).toEqual({
    outcome: { is: 'unknown', reason: 'the database is still committing' },
    looks: 2,
  })
  await database.sql`select pg_cancel_backend(${pid})`
  await expect(transaction).rejects.toThrow('canceling statement')
})
