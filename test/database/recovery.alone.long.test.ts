// What a request waits while the database is away. recovery.test.ts has what needs no time.
import { describe, expect, test } from 'bun:test'
import { expectUnavailable } from '../support/outage.ts'
import { FOUND, LOST, NO_FURTHER } from '../support/wordings.ts'
import { useOutageServer } from './outage-server.ts'

/** In milliseconds: until a silent database counts as lost, and the delay of a busy machine. */
const WAIT = 4500

const server = useOutageServer()

describe('if the database', () => {
  test('stops answering, requests wait for less than four seconds', async () => {
    await server.start({ statementMs: 10_000 })
    await Promise.all([server.service.list(), server.service.list()])
    server.proxy.setNetwork({ is: 'silent' })
    await expectUnavailable(server.service, WAIT)
    // The outage is known by now, so no request waits.
    await expectUnavailable(server.service, 500)
  })

  test('is behind a load balancer that accepts and closes connections, attempts to connect have pauses', async () => {
    await server.start()
    await server.service.list()
    server.proxy.setNetwork({ is: 'closing' })
    server.proxy.cut()
    await expectUnavailable(server.service, 500)
    const before = server.proxy.accepted
    await Bun.sleep(1000)
    expect(server.proxy.accepted - before).toBeWithin(1, 20)
    expect(server.service.newMessages()).toEqual([`${LOST}: it closes connections`])
    server.proxy.setNetwork({ is: 'normal' })
    await server.service.recovery(server.service.token)
    expect(server.service.newMessages()).toEqual([FOUND])
  })

  test('accepts no connection at all, requests get 503', async () => {
    await server.start()
    const { free } = await server.takeAll()
    await expectUnavailable(server.service, WAIT)
    expect(server.service.newMessages()).toEqual([`${NO_FURTHER}: it has no connection left`])
    await free()
    await server.service.recovery()
  })
})
