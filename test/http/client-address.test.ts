import { describe, expect, test } from 'bun:test'
import { clientAddress } from '../../src/http/request-log.ts'
import { readNetworks } from '../../src/networks.ts'

const PROXIES = readNetworks('10.0.0.7, 192.168.0.0/16, fd00::/8')

describe('the address of a client', () => {
  test.each([
    ['without a proxy is the other end', '203.0.113.9', null, '203.0.113.9'],
    ['is the other end, whatever somebody who is no proxy says', '203.0.113.9', '8.8.8.8', '203.0.113.9'],
    ['is what a proxy says', '10.0.0.7', '203.0.113.9', '203.0.113.9'],
    ['is the right-most that is no proxy', '10.0.0.7', '8.8.8.8, 203.0.113.9, 192.168.3.4', '203.0.113.9'],
    ['is the first proxy where all are', '10.0.0.7', '192.168.3.4,192.168.3.5', '192.168.3.4'],
    ['is the proxy that says nothing', '10.0.0.7', null, '10.0.0.7'],
    ['ends where no address stands', '10.0.0.7', '203.0.113.9, unknown, 192.168.3.4', '192.168.3.4'],
    ['is never any other text', '10.0.0.7', '"; drop table', '10.0.0.7'],
    ['may have a port', '10.0.0.7', '203.0.113.9:4711', '203.0.113.9'],
    ['may be of IPv6', 'fd00::1', '2001:db8::5', '2001:db8::5'],
    ['may be of IPv6 with a port', '10.0.0.7', '[2001:db8::5]:4711', '2001:db8::5'],
    ['is of IPv4 where a socket for both says so', '::ffff:10.0.0.7', '203.0.113.9', '203.0.113.9'],
    ['is not of the next network', '10.0.0.8', '203.0.113.9', '10.0.0.8'],
  ])('%s', (_, peer, forwarded, client) => {
    expect(clientAddress(peer, forwarded, PROXIES)).toBe(client)
  })

  test('is the other end where no proxy is trusted', () => {
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
])('%p is no list of networks', text => {
  expect(() => readNetworks(text)).toThrow('must be addresses and networks')
})
