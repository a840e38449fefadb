import { expect, test } from 'bun:test'
import { proxyFor } from '../../src/pull/proxy.ts'

/** The proxy for a URL with these variables. */
const found = (url: string, variables: Record<string, string>) =>
  proxyFor(url, name => variables[name] || undefined)

const HTTPS_PROXY = 'http://user:pass@proxy.example:3128'

test('an https service is reached through HTTPS_PROXY, an http one through HTTP_PROXY, and both through ALL_PROXY', () => {
  const all = { HTTPS_PROXY, HTTP_PROXY: 'http://plain.example:80', ALL_PROXY: 'any.example:8080' }
  expect(found('https://a.example', all)).toEqual({
    variable: 'HTTPS_PROXY',
    url: 'http://user:pass@proxy.example:3128/',
    origin: 'http://proxy.example:3128',
  })
  expect(found('http://a.example', all)?.origin).toBe('http://plain.example')
  for (const url of ['https://a.example', 'http://a.example'])
    expect(found(url, { ALL_PROXY: all.ALL_PROXY })).toMatchObject({
      variable: 'ALL_PROXY',
      origin: 'http://any.example:8080',
    })
  expect(found('https://a.example', { HTTP_PROXY: all.HTTP_PROXY })).toBeUndefined()
})

test.each(['http://localhost:3000', 'https://127.0.0.1', 'https://127.8.9.1:9', 'http://[::1]:3000/x'])(
  'the loopback address %s is reached without a proxy',
  url => {
    const name = 'http://proxy.example:1'
    expect(found(url, { HTTPS_PROXY: name, HTTP_PROXY: name, ALL_PROXY: name })).toBeUndefined()
  },
)

// The rules of curl, as its manual has them.
test.each([
  ['https://a.example', '*', true],
  ['https://a.example', 'a.example', true],
  ['https://a.example', 'A.Example', true],
  ['https://a.example', 'b.example, a.example', true],
  ['https://a.example', 'b.example a.example', true],
  ['https://a.example', '.example', true],
  ['https://a.example', 'example', true],
  ['https://a.example', '*.example', true],
  ['https://a.example', 'a.example.', true],
  ['https://a.example', 'a.example:443', true],
  ['https://a.example:8443', 'a.example:8443', true],
  ['https://a.example', 'a.example:8443', false],
  ['https://na.example', 'a.example', false],
  ['https://a.example', 'xample', false],
  ['https://a.example', ',', false],
  ['https://10.1.2.3', '10.0.0.0/8', true],
  ['https://10.1.2.3', '10.1.2.3', true],
  ['https://10.1.2.3', '10.1.2.3:443', true],
  ['https://10.1.2.3', '10.1.2', false],
  ['https://11.1.2.3', '10.0.0.0/8', false],
  ['https://[fd00::1]', 'fd00::/8', true],
  ['https://[fd00::1]', 'fd00::1', true],
  ['https://[fd00::1]', '[fd00::1]', true],
])('%s is reached without a proxy by NO_PROXY=%s: %p', (url, NO_PROXY, isExempt) => {
  expect(found(url, { HTTPS_PROXY, NO_PROXY }) === undefined).toBe(isExempt)
})

test.each(['socks5://proxy.example:1080', 'http://', 'http://a b'])('the proxy %s is refused', name => {
  expect(() => found('https://a.example', { HTTPS_PROXY: name })).toThrow(
    'HTTPS_PROXY names no proxy that axport can use: set it to http://host:port, or name the service in NO_PROXY',
  )
})
