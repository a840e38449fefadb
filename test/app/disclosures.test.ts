import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { MAX_PAGE } from '../../src/contract.ts'
import { recordDisclosure } from '../../src/disclosures/record.ts'
import { purgeDisclosures, setDisclosureState } from '../../src/tables/disclosure-state.ts'
import { record, recorded } from '../support/disclosures.ts'
import { assessment, educator, ORGANIZATION, organization, PRODUCT, world } from '../support/fixtures.ts'
import { useService } from '../support/hooks.ts'
import { bearer, get, idsOf, LIST, type ListBody, newToken, send } from '../support/http.ts'
import { authorize, load } from '../support/service.ts'
import { until } from '../support/until.ts'
import { DISK_FULL } from '../support/wordings.ts'

/** The disclosures that are recorded before an answer is sent, and the answers that cannot be recorded. */

const LARGE = 4_000_000_000
/** An organization whose records only one test reads. */
const OTHER = 20

describe('while disclosures are recorded', () => {
  const service = useService()
  let client: Awaited<ReturnType<typeof authorize>>

  beforeAll(async () => {
    await load(service.sql, [
      ...world(),
      educator(502),
      educator(LARGE),
      assessment(9001),
      assessment(9002),
      assessment(9003, { user_id: 502 }),
      assessment(LARGE + 1, { user_id: LARGE }),
    ])
    client = await authorize(service, [ORGANIZATION], [PRODUCT])
  })
  beforeEach(async () => {
    await service.sql`delete from disclosures`
    await record(service.sql)
  })

  const ask = (rest = '', init: RequestInit = {}) => get(service.baseUrl, client.token, LIST + rest, init)

  /** The log line of the request with an answer's headers. */
  const logLine = async (headers: Headers) => {
    const id = headers.get('x-request-id') as string
    const isOfRequest = (line: string) => line.includes(id) && line.includes('"msg":"request"')
    return JSON.parse(await until('its line is logged', () => service.logged().split('\n').find(isOfRequest)))
  }

  test('each answer with records is recorded: the integration, the request id, the ids', async () => {
    const page = await ask('?page=3&filter[search]=a&filter[user_ids][]=501&filter[user_ids][]=502')
    const single = await ask('/9001')
    const common = { client_id: client.clientId, address: '127.0.0.1' }
    expect(await recorded(service.sql)).toEqual([
      {
        ...common,
        request_id: page.headers.get('x-request-id') as string,
        filters: ['search', 'user_ids'],
        assessments: ['9001', '9002', '9003'],
        people: ['501', '502'],
      },
      {
        ...common,
        request_id: single.headers.get('x-request-id') as string,
        filters: null,
        assessments: ['9001'],
        people: ['501'],
      },
    ])
  })

  test('of the largest page, every record is recorded', async () => {
    const ids = Array.from({ length: MAX_PAGE }, (_, at) => 20_001 + at)
    await load(service.sql, [
      organization(OTHER),
      ...ids.map(id => assessment(id, { organization_id: OTHER })),
    ])
    const { token } = await authorize(service, [OTHER], [PRODUCT])
    const { body } = await get(service.baseUrl, token, `${LIST}?page=${MAX_PAGE}`)
    expect(idsOf(body as ListBody)).toEqual(ids)
    const [{ assessments } = { assessments: [] }] = await recorded(service.sql)
    expect(assessments.map(Number)).toEqual(ids)
  })

  test('only ids beyond four bytes are recorded in the columns for large ids', async () => {
    expect((await ask()).status).toBe(200)
    expect((await ask('?page=1')).status).toBe(200)
    const rows = await service.sql`
      select assessment_ids, user_ids, large_assessment_ids, large_user_ids from disclosures order by at`
    expect([...rows]).toEqual([
      {
        assessment_ids: [9001, 9002, 9003],
        user_ids: [501, 502],
        large_assessment_ids: [String(LARGE + 1)],
        large_user_ids: [String(LARGE)],
      },
      { assessment_ids: [9001], user_ids: [501], large_assessment_ids: null, large_user_ids: null },
    ])
  })

  test('HEAD, errors, empty pages and missing records are not recorded', async () => {
    for (const [status, rest, init] of [
      [200, '', { method: 'HEAD' }],
      [200, '/9001', { method: 'HEAD' }],
      [200, '?offset=1000', {}],
      [200, '?filter[user_ids][]=7', {}],
      [404, '/7', {}],
      [400, '?page=none', {}],
    ] as const)
      expect([rest, (await ask(rest, init)).status]).toEqual([rest, status])
    expect((await send(service.baseUrl, LIST, { headers: bearer('x'.repeat(43)) })).status).toBe(401)
    expect(await recorded(service.sql)).toEqual([])
  })

  test('the first request after recording is switched off is not recorded', async () => {
    await ask()
    await record(service.sql, false)
    await ask()
    await ask('/9001')
    expect(await recorded(service.sql)).toHaveLength(1)
  })

  test('the first request after recording is switched on is recorded, also that of a page that is remembered', async () => {
    await record(service.sql, false)
    for (const rest of ['', '/9001']) await ask(rest)
    await record(service.sql, true)
    for (const rest of ['', '/9001']) await ask(rest)
    expect(await recorded(service.sql)).toHaveLength(2)
  })

  test('a repetition under the same key finds the row of the first time', async () => {
    const disclosure = {
      ...{ clientId: client.clientId, assessments: '{9001}', people: '{501}', filters: [] },
      ...{ key: Bun.randomUUIDv7(), requestId: 'one', address: undefined },
    }
    for (let time = 0; time < 2; time++) await recordDisclosure(service.sql, disclosure)
    expect(await recorded(service.sql)).toHaveLength(1)
  })

  test('a disclosure past the retention is purged, and none if the retention is unlimited', async () => {
    for (let time = 0; time < 2; time++) await ask('/9001')
    await service.sql`
      update disclosures set at = now() - interval '400 days 1 second'
      where key = (select key from disclosures order by key limit 1)`
    await setDisclosureState(service.sql, { kept: null })
    expect(await purgeDisclosures(service.sql)).toBe(0)
    await setDisclosureState(service.sql, { kept: '400 days' })
    expect(await purgeDisclosures(service.sql)).toBe(1)
    expect(await recorded(service.sql)).toHaveLength(1)
  })

  test('a record is a 503 if nobody knows whether it has to be recorded, and the log says what is missing', async () => {
    await service.sql`delete from disclosure_state`
    try {
      const { status, headers, text, body } = await ask('/9001')
      expect([status, headers.get('retry-after')]).toEqual([503, '1'])
      expect(body).toEqual({
        errors: [{ message: 'The service is temporarily unavailable: try again later' }],
      })
      expect(text).not.toContain('9001')
      expect(await logLine(headers)).toMatchObject({
        client_id: client.clientId,
        status: 503,
        withheld:
          'disclosure_state is empty, its one row was deleted: insert into disclosure_state default values, then axport migrate --disclosures on',
      })
      expect((await ask('/7')).status).toBe(404)
    } finally {
      await service.sql`insert into disclosure_state default values`
    }
    expect((await ask('/9001')).status).toBe(200)
  })

  describe('an answer that cannot be recorded is a 503 whose reason is only in the log,', () => {
    afterEach(async () => {
      await service.sql`drop function if exists refuse cascade`
    })

    const refuse = (kind: string, code: string) =>
      service.sql.unsafe(`
        create function refuse() returns trigger language plpgsql as
          $$ begin raise exception 'not now' using errcode = '${code}'; end $$;
        create ${kind} for each row execute function refuse()`)

    /** The answer to a request, and the reason in its log line. */
    const refusal = async () => {
      const { status, headers, body } = await ask()
      const { client_id, records, withheld } = await logLine(headers)
      expect([client_id, records]).toEqual([client.clientId, undefined])
      return { status, retry: headers.get('retry-after'), body, withheld }
    }
    const errors = [{ message: 'The service is temporarily unavailable: try again later' }]
    const withheld = (why: string) => `its disclosure could not be recorded: ${why}`

    test('if the disk is full', async () => {
      await refuse('trigger refuse before insert on disclosures', '53100')
      const why = withheld(DISK_FULL)
      expect(await refusal()).toEqual({ status: 503, retry: '5', body: { errors }, withheld: why })
    })

    test('if the server refuses the row with an unforeseen error', async () => {
      await refuse('trigger refuse before insert on disclosures', 'P0001')
      const why = withheld('an unforeseen error')
      expect(await refusal()).toEqual({ status: 503, retry: '1', body: { errors }, withheld: why })
      expect(service.logged()).toContain('"code":"P0001"')
      // A message of the server may quote a row.
      expect(service.logged()).not.toContain('not now')
    })

    // At that time, Postgres has already reported the statement as successful.
    test('if the commit fails', async () => {
      await refuse(
        'constraint trigger refuse after insert on disclosures deferrable initially deferred',
        'P0001',
      )
      expect(await refusal()).toMatchObject({ status: 503 })
      expect(await recorded(service.sql)).toEqual([])
    })

    test('unless the answer shows no record', async () => {
      await refuse('trigger refuse before insert on disclosures', 'P0001')
      expect((await ask('', { method: 'HEAD' })).status).toBe(200)
      expect((await ask('?offset=1000')).status).toBe(200)
      await record(service.sql, false)
      expect((await ask()).status).toBe(200)
    })
  })
})

describe('answers that wait for the recording of their disclosures', () => {
  const service = useService()
  const clients: Awaited<ReturnType<typeof authorize>>[] = []

  beforeAll(async () => {
    await load(service.sql, [...world(), assessment(9001)])
    for (let n = 0; n < 2; n++) clients.push(await authorize(service, [ORGANIZATION], [PRODUCT]))
    await record(service.sql)
  })

  const answerAll = () =>
    Promise.all(
      clients.map(async ({ token }) => {
        const answers = Array.from({ length: 10 }, () => get(service.baseUrl, token, `${LIST}/9001`))
        return (await Promise.all(answers)).map(({ status }) => status)
      }),
    )

  test('are recorded once each', async () => {
    expect((await answerAll()).flat()).toEqual(Array(20).fill(200))
    const rows = await recorded(service.sql)
    expect([rows.length, new Set(rows.map(row => row.request_id)).size]).toEqual([20, 20])
  })

  test('are recorded once also if the connection of the recording is cut', async () => {
    const { sql } = service
    await sql`delete from disclosures`
    const lock = await sql.reserve()
    await lock`begin`
    await lock`lock table disclosures in share row exclusive mode`
    const asking = get(service.baseUrl, clients[0]?.token as string, `${LIST}/9001`)
    const waiting = () => lock<{ pid: number }[]>`select pid from pg_locks where not granted`
    const [first] = await until('the recording waits', async () => {
      const rows = await waiting()
      return rows.length > 0 && rows
    })
    await lock`select pg_terminate_backend(${first?.pid as number})`
    await until('it is sent again', async () => (await waiting()).some(({ pid }) => pid !== first?.pid))
    await lock`rollback`
    lock.release()
    expect((await asking).status).toBe(200)
    expect(await recorded(sql)).toHaveLength(1)
  })

  test('are recorded also if the client hangs up meanwhile', async () => {
    const { sql } = service
    await sql`delete from disclosures`
    const lock = await sql.reserve()
    await lock`begin`
    await lock`lock table disclosures in share row exclusive mode`
    const client = new AbortController()
    const { signal } = client
    const asking = get(service.baseUrl, clients[0]?.token as string, `${LIST}/9001`, { signal }).catch(
      error => error.name,
    )
    const waiting = async () => (await lock`select from pg_locks where not granted`).count === 1
    await until('the recording waits', waiting)
    client.abort()
    expect(await asking).toBe('AbortError')
    await until('the service knows it', () => service.logged().includes('"status":499'))
    // Meanwhile a cancel request would have arrived.
    for (let n = 0; n < 20; n++) await get(service.baseUrl, clients[0]?.token as string, `${LIST}?offset=9`)
    expect(await waiting()).toBe(true)
    await lock`rollback`
    lock.release()
    await until('it is recorded', async () => (await recorded(sql)).length === 1)
  })

  test('are refused one by one if the server refuses their rows', async () => {
    await service.sql`delete from disclosures`
    await service.sql.unsafe(`
      create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'not this one'; end $$;
      create trigger refuse before insert on disclosures for each row
        when (new.client_id = '${clients[1]?.clientId}') execute function refuse()`)
    expect(await answerAll()).toEqual([Array(10).fill(200), Array(10).fill(503)])
    expect(new Set((await recorded(service.sql)).map(row => row.client_id))).toEqual(
      new Set([clients[0]?.clientId as string]),
    )
  })
})

describe('an integration that was made with SQL', () => {
  const service = useService()

  test('has its answers recorded', async () => {
    const { sql, baseUrl } = service
    await load(sql, [...world(), assessment(9001)])
    const { clientId, clientSecret } = await authorize(service, [ORGANIZATION], [PRODUCT])
    await sql`update integrations set client_id = 'BySql' where client_id = ${clientId}`
    await record(sql)
    const token = await newToken(baseUrl, { clientId: 'BySql', clientSecret })
    expect((await get(baseUrl, token, `${LIST}/9001`)).status).toBe(200)
    expect(await recorded(sql)).toMatchObject([{ client_id: 'BySql', assessments: ['9001'] }])
  })
})
