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
 * The error in what a server has sent last, if its last message is an ErrorResponse after which a server ends the
 * connection, as postgres.js would give it. PgBouncer sends no field V.
 */
export function lastWordsIn(chunk: Buffer): Error | undefined {
  // It ends with a zero; the chunk of an answer ends with a letter.
  if (chunk.at(-1) !== 0) return undefined
  const start = startOfLast(chunk)
  if (start === undefined || chunk[start] !== ERROR_RESPONSE) return undefined
  const fields = chunk.toString('utf8', start + 5).split('\0')
  const field = (type: string) => fields.find(each => each.startsWith(type))?.slice(1)
  const severity = field('V') ?? field('S')
  if (severity !== 'FATAL' && severity !== 'PANIC') return undefined
  return Object.assign(new Error(field('M')), { name: 'PostgresError', code: field('C'), severity })
}

/** Where the last of several whole messages starts. */
function startOfLast(chunk: Buffer): number | undefined {
  for (let start = 0; start + 5 <= chunk.length; ) {
    const end = start + 1 + chunk.readUInt32BE(start + 1)
    if (end === chunk.length) return start
    start = end
  }
  return undefined
}
