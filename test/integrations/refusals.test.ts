import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { RefusalNotes } from '../../src/http/notes.ts'
import { addRefusals } from '../../src/integrations/refusals.ts'
import { reportIntegration } from '../../src/integrations/report.ts'
import type { Runner } from '../../src/postgres/statement.ts'
import { cleanUp, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { postToken, tryList } from '../support/http.ts'
import { newToken, provision, succeed, useTwoServices } from '../support/operator.ts'
import { backendsOf } from '../support/service.ts'
import { until } from '../support/until.ts'
import { NO_NUMBER } from '../support/wordings.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)
afterAll(cleanUp)

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

describe.each(backendsOf(import.meta.path))('the refusals of an integration, on %s,', backend => {
  const services = useTwoServices(backend)
  const refusals = async (clientId: string) => (await reportIntegration(services.sql, clientId)).refusals
  const counts = async (clientId: string) =>
    Object.fromEntries((await refusals(clientId)).map(({ what, count }) => [what, count]))

  test('are in its report with counts and times, and without text of requests', async () => {
    const [integration, other] = [await provision(services.sql), await provision(services.sql)]
    const [one, two] = services.baseUrls
    const { clientId } = integration
    const token = await newToken(one, integration)
    expect(await refusals(clientId)).toEqual([])

    await tryList(one, token, 'filter[user_ids][]=Zdenka&page=0&filters[seids][]=Zdenka')
    await until('the first are noted', async () => (await refusals(clientId)).length === 2)
    await tryList(two, token, 'filters[seids][]=Zdenka&page=5')
    await until('what had no effect is noted', async () => (await refusals(clientId)).length === 3)
    await postToken(two, { clientId: other.clientId, clientSecret: 'Zdenka' })
    await until('the wrong secret is noted', async () => (await refusals(other.clientId)).length === 1)

    expect((await refusals(clientId)).map(({ what }) => what).sort()).toEqual([
      `filter[user_ids] ${NO_NUMBER}`,
      'no effect: a parameter that resembles filter[seids][]',
      `page ${NO_NUMBER}, at least 1`,
    ])
    expect(await refusals(other.clientId)).toEqual([
      {
        what: 'invalid_client',
        count: 1,
        first_at: expect.stringMatching(INSTANT),
        last_at: expect.stringMatching(INSTANT),
      },
    ])
    expect(await succeed(services.url, 'integration', 'show', other.clientId)).toMatch(
      /^refusals {7}1 since \S+Z, the last \S+Z: invalid_client$/m,
    )
  })

  test('are written at intervals, so that a flood of requests causes few writes', async () => {
    const { clientId } = await provision(services.sql)
    let writes = 0
    const unsafe: Runner['unsafe'] = (...args) => {
      writes++
      return services.sql.unsafe(...args)
    }
    const notes = new RefusalNotes({ unsafe, writes: { isReadOnly: false } }, 300)
    for (let at = 0; at < 5000; at++) notes.note(clientId, ['invalid_client'])
    expect(writes).toBe(1)
    await until('all are noted', async () => (await counts(clientId)).invalid_client === 5000)
    expect(writes).toBe(2)
  })

  test('are summed over all processes, and start at zero after a week without refusals', async () => {
    const { clientId } = await provision(services.sql)
    const both = new Map([
      ['a', 2],
      ['b', 1],
    ])
    const reversed = new Map([...both].reverse())
    await Promise.all(
      [both, reversed, both, reversed].map((counts, at) =>
        addRefusals(at % 2 ? services.sql : services.otherSql, clientId, counts),
      ),
    )
    expect(await counts(clientId)).toEqual({ a: 8, b: 4 })
    await services.sql`
      update integration_refusals set last_at = last_at - interval '8 days', first_at = first_at - interval '9 days'
      where what = 'a'`
    expect(await counts(clientId)).toEqual({ b: 4 })
    await addRefusals(services.sql, clientId, both)
    expect(await counts(clientId)).toEqual({ a: 2, b: 5 })
    const [first] =
      await services.sql`select first_at = last_at as is_new from integration_refusals where what = 'a'`
    expect(first).toEqual({ is_new: true })
  })
})
