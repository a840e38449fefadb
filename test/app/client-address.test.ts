import { describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { clientAddress } from '../../src/app/client-address.ts'
import { readNetworks } from '../../src/networks.ts'
import { TEST_TIMEOUT_MS } from '../support/executable.ts'
import { bearer, LIST, send } from '../support/http.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const PROXIES = readNetworks('10.0.0.7, 192.168.0.0/16, fd00::/8')

describe('the address of a client', () => {
  test.each([
    ['is the peer if nothing is forwarded', '203.0.113.9', null, '203.0.113.9'],
    ['is the peer if the peer is not a trusted proxy', '203.0.113.9', '8.8.8.8', '203.0.113.9'],
    ['is the address that a trusted proxy forwards', '10.0.0.7', '203.0.113.9', '203.0.113.9'],
    [
      'is the right-most forwarded address that is not a proxy',
      '10.0.0.7',
      '8.8.8.8, 203.0.113.9, 192.168.3.4',
      '203.0.113.9',
    ],
    [
      'is the first proxy if all forwarded addresses are proxies',
      '10.0.0.7',
      '192.168.3.4,192.168.3.5',
      '192.168.3.4',
    ],
    ['is the proxy if it forwards nothing', '10.0.0.7', null, '10.0.0.7'],
    [
      'is the last address before a text that is not an address',
      '10.0.0.7',
      '203.0.113.9, unknown, 192.168.3.4',
      '192.168.3.4',
    ],
    ['is never a text that is not an address', '10.0.0.7', '"; drop table', '10.0.0.7'],
    ['may have a port', '10.0.0.7', '203.0.113.9:4711', '203.0.113.9'],
    ['may be an IPv6 address', 'fd00::1', '2001:db8::5', '2001:db8::5'],
    ['may be an IPv6 address with a port', '10.0.0.7', '[2001:db8::5]:4711', '2001:db8::5'],
    ['is found behind a peer with an IPv4-mapped address', '::ffff:10.0.0.7', '203.0.113.9', '203.0.113.9'],
    [
      'is the peer if its address is just outside of a trusted network',
      '10.0.0.8',
      '203.0.113.9',
      '10.0.0.8',
    ],
  ])('%s', (_, peer, forwarded, client) => {
    expect(clientAddress(peer, forwarded, PROXIES)).toBe(client)
  })

  test('is the peer if no proxy is trusted', () => {
    expect(clientAddress('127.0.0.1', '203.0.113.9', undefined)).toBe('127.0.0.1')
  })

  test('is found in 64 KB of addresses without a look at those that the client has invented', () => {
    const proxies = readNetworks('10.0.0.7')
    const looks = spyOn(proxies, 'check')
    const forwarded = `${'10.0.0.7, '.repeat(6500)}203.0.113.9, 10.0.0.7`
    expect(forwarded.length).toBeGreaterThan(65_000)
    expect([clientAddress('10.0.0.7', forwarded, proxies), looks.mock.calls.length]).toEqual([
      '203.0.113.9',
      3,
    ])
  })
})

describe('over HTTP', () => {
  const world = useServedWorld({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' })

  test('an X-Forwarded-For of nearly 64 KB is read to its first address, and a longer one is refused', async () => {
    const running = await world.serve()
    const ask = (forwarded: string) =>
      send(running.url, LIST, { headers: { ...bearer(world.token), 'x-forwarded-for': forwarded } })
    const proxies = (count: number) => '10.1.2.3, '.repeat(count)
    expect((await ask(`203.0.113.9, ${proxies(6500)}10.0.0.7`)).status).toBe(200)
    expect((await ask(`203.0.113.9, ${proxies(6600)}10.0.0.7`)).status).toBe(431)
    // The end of the process is the end of its log.
    await running.end()
    const lines = running.log().filter(({ msg }) => msg === 'request')
    expect(lines.map(({ status, address }) => [status, address])).toEqual([[200, '203.0.113.9']])
  })
})

test.each([
  '10.0.0.0/33',
  '10.0.0',
  'proxy.example.org',
  '10.0.0.7,,10.0.0.8',
  '::1/129',
  '10.0.0.7 10.0.0.8',
])('TRUSTED_PROXIES cannot be %p', text => {
  expect(() => readNetworks(text)).toThrow('must be addresses and networks')
})
