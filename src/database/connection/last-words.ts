/** The error with which a server or a pooler has ended a connection. */
export interface LastWords {
  /** SQLSTATE */
  code: string
  message: string
}

const ERROR_RESPONSE = 'E'.charCodeAt(0)

/**
 * The error in what a server has sent last, if that is one ErrorResponse after which a server ends the connection
 * (Message Formats, and Error and Notice Message Fields, of the protocol). PgBouncer sends no field V.
 */
export function lastWordsIn(chunk: Buffer): LastWords | undefined {
  if (chunk[0] !== ERROR_RESPONSE || chunk.length < 5 || chunk.readInt32BE(1) + 1 !== chunk.length)
    return undefined
  const fields = chunk.toString('utf8', 5).split('\0')
  const field = (type: string) => fields.find(each => each.startsWith(type))?.slice(1)
  const severity = field('V') ?? field('S')
  if (severity !== 'FATAL' && severity !== 'PANIC') return undefined
  return { code: field('C') ?? '', message: field('M') ?? '' }
}
