import { dial, type RawAnswer } from '../../support/raw.ts'
import type { Conversation } from './hostile.ts'

/** What came back: the answers, what followed them and is none, and whether the connection was closed. */
export interface Received {
  /** Requests that were sent: none follows once the server has closed. */
  sent: number
  answers: RawAnswer[]
  rest: Buffer
  isClosed: boolean
}

/** Milliseconds for a request that is owed an answer. */
const PATIENCE = 20_000

/** Milliseconds for what was not even finished, and may be owed nothing. */
const GRACE = 30

/** What goes out at once, and how many answers are waited for before the next. */
interface Turn {
  packets: Buffer[]
  requests: number
  isBroken: boolean
}

/** Sends the bytes of a conversation as it says, and reads what comes until all is answered, or somebody closes. */
export async function converse(url: string, conversation: Conversation): Promise<Received> {
  const { requests, ending } = conversation
  const connection = dial(url)
  const answers: RawAnswer[] = []
  let sent = 0
  for (const turn of turnsOf(conversation)) {
    if (connection.isClosed) break
    sent += turn.requests
    for (const packet of turn.packets) {
      connection.write(packet)
      // What belongs together arrives apart.
      if (turn.packets.length > 1) await new Promise(setImmediate)
    }
    if (ending === 'cut') connection.destroy()
    if (ending === 'end') connection.end()
    const end = performance.now() + (ending === 'wait' && !turn.isBroken ? PATIENCE : GRACE)
    for (let owed = turn.requests; owed > 0; owed--) {
      const answer = await connection.next(
        requests[answers.length]?.method,
        Math.max(0, end - performance.now()),
      )
      // Who is cut off now was not answered in time.
      if (!answer) connection.destroy()
      else answers.push(answer)
    }
  }
  // A broken request may be taken for several.
  while (connection.rest.length > 0) {
    const more = await connection.next(requests[answers.length]?.method, 0)
    if (!more) break
    answers.push(more)
  }
  const { rest, isClosed } = connection
  connection.destroy()
  return { sent, answers, rest, isClosed }
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
