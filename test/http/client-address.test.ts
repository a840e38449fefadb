import { describe, expect, test } from 'bun:test'
import { clientAddress } from '../../src/http/request-log.ts'
import { readNetworks } from '../../src/networks.ts'

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
