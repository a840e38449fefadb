import { connect } from 'node:net'
import { expectDocumented } from '../../support/documented.ts'

/** An answer as it came over the wire; header names are lower case. */
interface RawAnswer {
  status: number
  headers: Map<string, string>
  body: string
}

/**
 * Sends bytes that fetch would refuse or normalise, and reads until the server closes. `head` is the request
 * line and the headers, without Host and Connection, which are added. The answer has to be one that the OpenAPI
 * document describes.
 */
export function exchange(
  baseUrl: string,
  head: string[],
  body: string | Uint8Array = '',
): Promise<RawAnswer> {
  const { hostname, port, host } = new URL(baseUrl)
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const received: Uint8Array[] = []
  const socket = connect(Number(port), hostname, () => {
    // latin1 writes each character as the byte of its number, so that any byte can be asked for.
    const [requestLine, ...headers] = head
    const lines = [requestLine, `Host: ${host}`, 'Connection: close', ...headers, '', '']
    socket.write(Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), Buffer.from(body)]))
  })
  socket.on('data', chunk => received.push(Buffer.from(chunk)))
  socket.on('error', reject)
  socket.on('end', () => {
    socket.destroy()
    const answer = parse(Buffer.concat(received).toString())
    const [method = '', target = ''] = head[0]?.split(' ') ?? []
    try {
      expectDocumented(method, target, { ...answer, text: answer.body })
      resolve(answer)
    } catch (error) {
      reject(error)
    }
  })
  return promise
}

function parse(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  return { status: Number(statusLine.split(' ')[1]), headers, body: text.slice(end + 4) }
}
