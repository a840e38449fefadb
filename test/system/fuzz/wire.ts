import { dial, type RawAnswer } from '../../support/raw.ts'
import type { Conversation } from './hostile.ts'

/** The received answers, further bytes that are no answer, and how the conversation ended. */
export interface Received {
  /** The number of sent requests; no request is sent after the server has closed. */
  sent: number
  answers: RawAnswer[]
  rest: Buffer
  /** Whether the server closed the connection. */
  isClosed: boolean
  /** Whether the server neither answered nor closed in time. */
  isLate: boolean
}

/** The limits of a service that is fuzzed: with them a request takes 10 seconds at most. */
export const LIMITS = { STATEMENT_TIMEOUT: '4' }

/** Milliseconds for the answer to a complete request. */
const TIMEOUT_MS = 12_000

/** Milliseconds for an answer to a broken request: more than the body of a token request may take. */
const BROKEN_TIMEOUT_MS = 12_000

/** Packets that are sent together, and the number of answers to read before the next turn. */
interface Turn {
  packets: Buffer[]
  requests: number
  isBroken: boolean
}

/** Sends a conversation, and reads until every request is answered, the server closes, or it is late. */
export async function converse(url: string, conversation: Conversation): Promise<Received> {
  const { requests, ending } = conversation
  const connection = dial(url)
  const answers: RawAnswer[] = []
  let sent = 0
  let isLate = false
  for (const turn of turnsOf(conversation)) {
    if (connection.isClosed) break
    sent += turn.requests
    for (const packet of turn.packets) {
      connection.write(packet)
      // The pause makes the packets of one request arrive separately.
      if (turn.packets.length > 1) await new Promise(setImmediate)
    }
    if (ending === 'cut') connection.destroy()
    if (ending === 'end') connection.end()
    const end = performance.now() + (turn.isBroken ? BROKEN_TIMEOUT_MS : TIMEOUT_MS)
    for (let owed = turn.requests; owed > 0; owed--) {
      const leftMs = Math.max(0, end - performance.now())
      const { method } = requests[answers.length] ?? {}
      let answer = await connection.next(method, leftMs)
      if (!answer && turn.isBroken && !connection.isClosed) {
        // The request may lack its end, for which the server waits until the client ends the connection.
        connection.end()
        answer = await connection.next(method, TIMEOUT_MS)
      }
      if (answer) answers.push(answer)
      else isLate ||= !connection.isClosed
    }
    if (isLate) break
  }
  // A server may read a broken request as several requests.
  while (connection.rest.length > 0) {
    const more = await connection.next(requests[answers.length]?.method, 0)
    if (!more) break
    answers.push(more)
  }
  const { rest, isClosed } = connection
  connection.destroy()
  return { sent, answers, rest, isClosed, isLate }
}

function turnsOf({ requests, isPipelined, cuts, sent }: Conversation): Turn[] {
  if (!isPipelined)
    return requests.map(({ bytes, isBroken }) => ({ packets: cutUp(bytes, cuts), requests: 1, isBroken }))
  const whole = Buffer.concat(requests.map(({ bytes }) => bytes))
  const packets = cutUp(whole.subarray(0, Math.floor(whole.length * sent)), cuts)
  return [{ packets, requests: requests.length, isBroken: requests.some(({ isBroken }) => isBroken) }]
}

function cutUp(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = cuts.map(cut => Math.floor(bytes.length * cut)).sort((a, b) => a - b)
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length))
}
