import { connect } from 'node:tls'
import { LIST, TOKEN } from '../../support/http.ts'

/** With the pause, some 300 requests a second: proxies of docs/operate let one address send 1,000. */
const CONNECTIONS = 16
const PAUSE_MS = 40
const GIVE_UP_MS = 2000

/** A body in chunks, and the trailer that follows it. */
const BODY = '5\r\nhello\r\n0\r\n'
const TRAILER = 'X-Sum: 1\r\n\r\n'

/** Some proxies wait for the end of a request before they pass it on; others answer before that. */
const LATER_MS = 20

/** A client without a token that sends trailers through a proxy until it is stopped. */
export interface Flood {
  /** How many of its requests were answered. */
  answered(): number
  stop(): Promise<void>
}

/**
 * Starts a flood on a base URL of HTTPS. Each request has a connection of its own to the proxy. Its trailer is in one packet
 * with it, or comes later: after the answer, unless the proxy waits for the trailer.
 */
export function floodWithTrailers(baseUrl: string, ca: string): Flood {
  const { hostname, port, pathname } = new URL(baseUrl)
  const requests = ['GET /openapi.json', `GET ${LIST}`, `POST ${LIST}`, `POST ${TOKEN}`].map(line => {
    const head = `${line.replace(' ', ` ${pathname}`)} HTTP/1.1\r\nHost: ${hostname}\r\nTransfer-Encoding: chunked`
    return `${head}\r\n\r\n${BODY}`
  })
  let isOver = false
  let answered = 0

  const ask = async (request: string, isLater: boolean) => {
    const socket = connect({ host: hostname, port: Number(port), ca })
    const closed = new Promise(resolve => socket.on('close', resolve))
    socket.on('error', () => {})
    const later = setTimeout(() => isLater && socket.write(TRAILER), LATER_MS)
    socket.once('data', () => {
      answered++
      clearTimeout(later)
      if (isLater) socket.write(TRAILER)
      socket.end()
    })
    socket.write(isLater ? request : request + TRAILER)
    const giveUp = setTimeout(() => socket.destroy(), GIVE_UP_MS)
    await closed
    clearTimeout(later)
    clearTimeout(giveUp)
  }
  const asking = Array.from({ length: CONNECTIONS }, async (_, at) => {
    for (let turn = at >> 1; !isOver; turn++) {
      await ask(requests[turn % requests.length] ?? '', at % 2 === 1)
      await Bun.sleep(PAUSE_MS)
    }
  })
  return {
    answered: () => answered,
    stop: async () => {
      isOver = true
      await Promise.all(asking)
    },
  }
}
