import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { selfSigned } from '../support/certificate.ts'
import {
  axport,
  cleanUp,
  emptyFolder,
  errorLine,
  serve,
  start,
  TEST_TIMEOUT_MS,
} from '../support/executable.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const FIRST = selfSigned('first')
const SECOND = selfSigned('second')

let database: TestDatabase
let env: { DATABASE_URL: string; TLS_CERT_FILE: string; TLS_KEY_FILE: string }

beforeAll(async () => {
  database = await openTestDatabase()
  const folder = emptyFolder()
  env = {
    DATABASE_URL: database.url,
    TLS_CERT_FILE: join(folder, 'tls.crt'),
    TLS_KEY_FILE: join(folder, 'tls.key'),
  }
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})

function install({ cert, key }: { cert: string; key: string }): void {
  writeFileSync(env.TLS_CERT_FILE, cert)
  writeFileSync(env.TLS_KEY_FILE, key)
}

/** The suite of TLS 1.2 that the service chooses from `ciphers`, or "none". */
async function cipherOf(url: string, ciphers: string): Promise<string> {
  const { port } = new URL(url)
  const options = { ciphers, maxVersion: 'TLSv1.2', rejectUnauthorized: false } as const
  const socket = connect({ port: Number(port), host: '127.0.0.1', ...options })
  const name = await new Promise<string>(resolve =>
    socket.once('secureConnect', () => resolve(socket.getCipher().name)).once('error', () => resolve('none')),
  )
  socket.destroy()
  return name
}

describe('serve with a certificate', () => {
  test('speaks HTTPS, and /metrics says when the certificate ends', async () => {
    install(FIRST)
    const running = await start(['serve'], { env: { PORT: '0', ADMIN_PORT: '0', ...env } })
    const [line] = await running.shows(/^.*"msg":"listening".*\n/m)
    const { url, admin } = JSON.parse(line) as { url: string; admin: string }
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const api = `${url}/api/v1/ax/assessments`
    expect((await fetch(api, { tls: { ca: FIRST.cert } })).status).toBe(401)
    expect((await fetch(api, { method: 'POST', tls: { ca: FIRST.cert } })).status).toBe(405)
    expect(await fetch(api, { tls: { ca: SECOND.cert } }).catch(({ code }) => code)).toMatch(/CERT/)
    expect(await (await fetch(`${admin}/metrics`)).text()).toContain(
      `axport_certificate_expiry_timestamp_seconds ${Date.UTC(2049, 11, 31) / 1000}\n`,
    )
    running.signal('SIGTERM')
    const { code, stdout, stderr } = await running.finished
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).not.toContain('PRIVATE KEY')
  })

  test('accepts no cipher suite without forward secrecy', async () => {
    // Suites without forward secrecy take the key of an RSA certificate.
    install(selfSigned('rsa', '127.0.0.1', 'rsa'))
    const server = await serve(env)
    for (const [ciphers, agreed] of [
      ['DEFAULT', 'ECDHE-RSA-AES'],
      ['ECDHE-RSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
      ['AES128-GCM-SHA256', 'none'],
      ['AES256-GCM-SHA384', 'none'],
      ['AES128-SHA:AES256-SHA', 'none'],
    ] as const)
      expect([ciphers, await cipherOf(server.url, ciphers)]).toEqual([
        ciphers,
        expect.stringContaining(agreed),
      ])
    server.signal('SIGTERM')
    expect((await server.finished).code).toBe(0)
  })

  test('exits with one line if the certificate cannot be used', async () => {
    const { TLS_CERT_FILE, TLS_KEY_FILE, ...plain } = env
    const why = async (env: Record<string, string>) => errorLine(await axport(['serve'], { env }), 1)
    install({ cert: FIRST.cert, key: SECOND.key })
    expect(await why(env)).toMatch(/tls\.key \(TLS_KEY_FILE\) is not that of .*tls\.crt/)
    install({ cert: FIRST.key, key: FIRST.key })
    expect(await why(env)).toMatch(/^TLS_CERT_FILE names .* no certificate in PEM form/)
    install({ cert: FIRST.cert, key: FIRST.cert })
    expect(await why(env)).toMatch(/^TLS_KEY_FILE names .* no private key in PEM form/)
    expect(await why({ ...env, TLS_KEY_FILE: '/nowhere' })).toMatch(/^TLS_KEY_FILE names \/nowhere.*ENOENT/)
    expect(await why({ ...plain, TLS_CERT_FILE })).toMatch(/^TLS_KEY_FILE is not set/)
    expect(await why({ ...plain, TLS_KEY_FILE })).toMatch(/^TLS_CERT_FILE is not set/)
  })
})
