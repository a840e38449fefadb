import { describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { openFirst } from '../../src/postgres/connection/opening.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { standbyAddresses } from '../../src/postgres/standby/addresses.ts'
import {
  checked,
  type Eligibility,
  whyNotStandby,
  whyPassedOver,
  whyTooFarBehind,
} from '../../src/postgres/standby/eligibility.ts'
import { Positions } from '../../src/postgres/standby/positions.ts'
import { endOfLast, primaryStatus, unreplayed } from '../../src/postgres/standby/replayed.ts'
import { type ServerStatus, StatusProbe } from '../../src/postgres/standby/server-status.ts'
import { ranked } from '../../src/postgres/standby/standbys.ts'
import { sha256 } from '../../src/random.ts'
import { cluster } from '../support/cluster.ts'

/** The positions of a primary at 0 s, 1 s, 2 s and so on. */
function positions(...seen: number[]): Positions {
  const positions = new Positions()
  for (const [second, position] of seen.entries()) positions.add(BigInt(position), second * 1000)
  return positions
}

describe('the lag of a standby', () => {
  test.each<[string, number[], number, number, boolean]>([
    ['is 0 if the newest position is replayed', [100, 200, 300], 300, 0, false],
    ['is 0 if the standby is ahead of the last answer of the primary', [100, 200, 300], 350, 0, false],
    ['is the age of the newest replayed position', [100, 200, 300], 299, 1000, false],
    ['is a minimum if the oldest known position is not replayed', [100, 200], 99, 1000, true],
    ['is unknown before the primary has answered', [], 99, 0, true],
    ['is 0 while the primary writes nothing', [100, 100, 100, 100], 100, 0, false],
    ['starts when an idle primary writes', [100, 100, 100, 200], 100, 1000, false],
    ['is 0 after the primary was restored to an earlier position', [900, 100], 500, 0, false],
  ])('%s', (_, seen, replayed, lagMs, isMinimum) => {
    expect(positions(...seen).lagOf(BigInt(replayed))).toEqual({ lagMs, isMinimum })
  })

  test('is measured by the positions of the last hour, and older positions are not kept', () => {
    const long = positions(...Array.from({ length: 4000 }, (_, second) => second * 10))
    expect(long.lagOf(39_990n - 10n * 3599n)).toEqual({ lagMs: 3_599_000, isMinimum: false })
    expect(long.lagOf(39_990n - 10n * 3600n)).toEqual({ lagMs: 3_599_000, isMinimum: true })
  })

  test('is too large above READ_LAG, or if only its minimum is known', () => {
    expect(whyTooFarBehind({ lagMs: 5000, isMinimum: false }, 5000)).toBeUndefined()
    expect(whyTooFarBehind({ lagMs: 5001, isMinimum: false }, 5000)).toBe('it is 5 s behind')
    expect(whyTooFarBehind({ lagMs: 0, isMinimum: true }, 5000)).toBe('it is more than 0 s behind')
  })
})

test("a standby is accepted if it is in recovery, of the primary's cluster, and on the primary's timeline", () => {
  const primary = { system: '7', timeline: 2 }
  const standby: ServerStatus = { system: '7', timeline: 2, isStandby: true, position: 1n }
  expect(whyNotStandby(standby, primary)).toBeUndefined()
  expect(whyNotStandby(standby, undefined)).toBe('the primary has not been asked yet')
  expect(whyNotStandby({ ...standby, system: '8' }, primary)).toBe('it is of another cluster')
  expect(whyNotStandby({ ...standby, isStandby: false }, primary)).toBe('it is no standby')
  expect(whyNotStandby({ ...standby, timeline: 1 }, primary)).toBe(
    'it is on timeline 1, and the primary on 2',
  )
})

test('a standby is read from if its first check is good, and otherwise after three good ones in a row', () => {
  const whysOf = (problems: (string | undefined)[]) => {
    let standby: Eligibility = { is: 'unknown' }
    const whys = [whyPassedOver(standby)]
    for (const problem of problems) {
      standby = checked(standby, problem, 1)
      whys.push(whyPassedOver(standby))
    }
    return whys
  }
  const [unknown, back] = ['it has not been asked yet', 'it has just come back']
  const good = undefined
  expect(whysOf([good, 'away', good, 'away', good, good, good, good])).toEqual([
    unknown,
    ...[undefined, 'away', back, 'away', back, back, undefined, undefined],
  ])
  expect(whysOf(['away', 'silent', good, good, good])).toEqual([
    unknown,
    ...['away', 'silent', back, back, undefined],
  ])
})

describe('the preferred standby of a token', () => {
  const servers = ['db2:5432', 'db3:5432', 'db4:5432'].map(name => ({ name, seed: Bun.hash(name) as bigint }))
  const tokens = Array.from({ length: 300 }, (_, at) => sha256(`token ${at}`))
  const firstOf = (token: Buffer, among = servers) => ranked(token, among)[0]?.name as string

  test('is the same on every process, and each standby has a share of the tokens', () => {
    const shares = Map.groupBy(tokens, token => firstOf(token))
    for (const { name } of servers) expect(shares.get(name)?.length).toBeGreaterThan(60)
    for (const token of tokens) expect(firstOf(token, servers.toReversed())).toBe(firstOf(token))
  })

  test('is unchanged if another standby disappears or is added', () => {
    for (const { name: gone } of servers) {
      const left = servers.filter(({ name }) => name !== gone)
      const others = tokens.filter(token => firstOf(token) !== gone)
      expect(others.map(token => firstOf(token, left))).toEqual(others.map(token => firstOf(token)))
    }
  })
})

describe('DATABASE_READ_URL', () => {
  const PASSWORD = 'S3cretPassw0rd'

  test('names one standby per host, and is read again for each connection', () => {
    let text = `postgres://u:${PASSWORD}@db2,db3:6000,[::1]:7000/d?sslmode=require`
    const servers = standbyAddresses(() => text)
    expect(servers.map(({ name }) => name)).toEqual(['db2:5432', 'db3:6000', '[::1]:7000'])
    expect(servers[1]?.url()).toMatchObject({
      addresses: [{ host: 'db3', port: 6000 }],
      login: { user: 'u', password: PASSWORD, database: 'd' },
    })
    text = 'postgres://u:renewed@db3:6000/d'
    expect(servers[1]?.url().login.password).toBe('renewed')
    expect(() => servers[0]?.url()).toThrow('DATABASE_READ_URL does not have db2:5432 any more')
  })

  test.each([
    ['embedded:./data', /^DATABASE_READ_URL \(or what DATABASE_READ_URL_FILE holds\) must be postgres:\S+$/],
    [`postgres://u:${PASSWORD}@h/d?sslmode=no`, /^sslmode in DATABASE_READ_URL must be one of /],
    [`postgres://u:${PASSWORD}@h/d?target_session_attrs=primary`, /asks for a primary: remove it/],
    [`postgres://u:${PASSWORD}@h,h:5432/d`, /^DATABASE_READ_URL has h:5432 twice/],
  ])('that cannot be used is refused with a reason: %s', (text, message) => {
    const refusal = () => standbyAddresses(() => text)
    expect(refusal).toThrow(message)
    expect(refusal).not.toThrow(PASSWORD)
  })
})

test('the end of the written log is before the header of a page that is still empty', () => {
  const PAGE = 8192n
  const ends = [0n, 24n, 40n, 48n, 8191n].map(at => endOfLast(3n * PAGE + at, PAGE) - 3n * PAGE)
  expect(ends).toEqual([0n, 0n, 0n, 48n, 8191n])
})

test('the primary as one of the standbys has every change, and is refused as a standby', async () => {
  const { url } = await cluster()
  const servers = standbyAddresses(() => url())
  const sql = postgres(url(), { max: 1, onnotice: () => {} })
  const primary = await primaryStatus(sql)
  await sql.end()
  expect(await unreplayed(servers, primary, 5000, true)).toEqual([])
  const found = await unreplayed(servers, primary, 5000)
  expect(found).toEqual([{ name: new URL(url()).host, why: 'it is no standby' }])
})

test('a server without a free connection is asked for its status on the old connection', async () => {
  const { url } = await cluster()
  let opened = 0
  const probe = new StatusProbe(async timeoutMs => {
    if (++opened > 1) throw new Error('too many connections')
    const connection = await openFirst(readPostgresUrl(url()), timeoutMs)
    return Object.assign(connection, { expiresAt: 0 })
  })
  const first = await probe.query(5000)
  const second = await probe.query(5000)
  expect([second.system, opened]).toEqual([first.system, 2])
  await probe.close()
})
