import type { Backend } from './socket.ts'

/* What is read of the protocol beside postgres.js (Message Formats of Postgres): two messages, each in one place. */

const BACKEND_KEY_DATA = 'K'.charCodeAt(0)
const ERROR_RESPONSE = 'E'.charCodeAt(0)

/** Reads the server process from the first messages of a connection, which may arrive in any pieces. */
export function backendReader(): (chunk: Buffer) => Backend | undefined {
  let rest: Buffer = Buffer.alloc(0)
  return chunk => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const size = rest.length < 5 ? Number.POSITIVE_INFINITY : 1 + rest.readUInt32BE(1)
      if (rest.length < size) return undefined
      if (rest[0] === BACKEND_KEY_DATA) return { pid: rest.readUInt32BE(5), secret: rest.readUInt32BE(9) }
      rest = rest.subarray(size)
    }
  }
}

/**
 * The error in what a server has sent last, if that is one ErrorResponse after which a server ends the connection, as
 * postgres.js would give it. PgBouncer sends no field V.
 */
export function lastWordsIn(chunk: Buffer): Error | undefined {
  if (chunk[0] !== ERROR_RESPONSE || chunk.length < 5 || chunk.readInt32BE(1) + 1 !== chunk.length)
    return undefined
  const fields = chunk.toString('utf8', 5).split('\0')
  const field = (type: string) => fields.find(each => each.startsWith(type))?.slice(1)
  const severity = field('V') ?? field('S')
  if (severity !== 'FATAL' && severity !== 'PANIC') return undefined
  return Object.assign(new Error(field('M')), { name: 'PostgresError', code: field('C'), severity })
}
