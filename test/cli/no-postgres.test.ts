import { afterAll, expect, test } from 'bun:test'
import { type AddressInfo, createServer } from 'node:net'
import { axport, cleanUp, errorLine } from '../support/executable.ts'

afterAll(cleanUp)

test.concurrent.each([
  ['speaks HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
  ['takes connections and closes them, as a load balancer without a Postgres does', ''],
])(
  'serve --check and doctor ask whether the server is Postgres if it %s',
  async (_, answer) => {
    const other = createServer(socket => {
      socket.on('error', () => {}).on('data', () => socket.end(answer))
    })
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const DATABASE_URL = `postgres://u:p@127.0.0.1:${(other.address() as AddressInfo).port}/x`
    const env = { DATABASE_URL }
    const calls = [axport(['serve', '--check'], { env }), axport(['doctor'], { env })] as const
    const [serve, doctor] = await Promise.all(calls)
    other.close()
    expect(errorLine(serve, 1)).toMatch(/is it Postgres/)
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining('is it Postgres') })
  },
  60_000,
)
