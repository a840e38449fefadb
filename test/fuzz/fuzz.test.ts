import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { sampleNdjson } from '../../src/sample/generate.ts'
import { axport, cleanUp, PATIENCE, type Running, serve } from '../support/executable.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { type Credentials, provision } from '../support/walk.ts'
import { type Conversation, conversations, type Keys } from './hostile.ts'
import { LIST } from './hostile-targets.ts'
import { faultsOf } from './judge.ts'
import { converse } from './wire.ts'

/** Minutes of fuzzing; without it, so many requests as are sent in every check. */
const MINUTES = Number(process.env.TEST_FUZZ_MINUTES ?? 0)
const REQUESTS = 20_000
/** Requests before these, after which the service has as much memory as it needs for such a load. */
const WARM_UP = 15_000
/** Megabytes that the second half of the requests may add: 10 are usual, 35 when each keeps 16 KB. */
const MORE_MEMORY = 25
/** Connections at a time. */
const CONNECTIONS = 20
/** The first seed; each round takes the next one. A failure names its own. */
const SEED = Number(process.env.TEST_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))

setDefaultTimeout(PATIENCE + 2 * MINUTES * 60_000)

let database: TestDatabase
let service: Running & { url: string }
let credentials: Credentials
let keys: Keys
let port: number
let sent = 0

beforeAll(async () => {
  database = await openTestDatabase('postgres')
  const env = { DATABASE_URL: database.url }
  const lines = [...sampleNdjson({ assessments: 60 })].join('')
  expect((await axport(['import', '-'], { env, stdin: { text: lines } })).code).toBe(0)
  credentials = await provision(env, lines)
  service = await serve(env)
  port = Number(new URL(service.url).port)
  const ids = [...lines.matchAll(/"type":"assessment","id":(\d+)/g)].map(match => Number(match[1]))
  const { client_id: clientId, client_secret: clientSecret } = credentials
  keys = { host: new URL(service.url).host, token: await token(), clientId, clientSecret, ids }
})
afterAll(async () => {
  await cleanUp()
  await database?.close()
})

async function token(): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...credentials })
  const response = await fetch(`${service.url}/oauth/token`, { method: 'POST', body })
  return ((await response.json()) as { access_token: string }).access_token
}

/** One connection: its bytes go out as it says, and what comes back is looked at. */
async function talk(conversation: Conversation): Promise<string[]> {
  const { requests, ending } = conversation
  const methods = requests.map(({ method }) => method)
  const received = await converse(port, { turns: turnsOf(conversation), methods, ending })
  sent += conversation.isPipelined ? requests.length : received.turns
  return faultsOf(conversation, received)
}

function turnsOf({ requests, isPipelined, cuts, sent: share }: Conversation) {
  const turns = requests.map(({ bytes, isBroken }) => ({ packets: cutUp(bytes, cuts), answers: 1, isBroken }))
  if (!isPipelined) return turns
  const whole = Buffer.concat(requests.map(({ bytes }) => bytes))
  const packets = cutUp(whole.subarray(0, Math.floor(whole.length * share)), cuts)
  return [{ packets, answers: requests.length, isBroken: requests.some(({ isBroken }) => isBroken) }]
}

function cutUp(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = cuts.map(cut => Math.floor(bytes.length * cut)).sort((a, b) => a - b)
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length))
}

/**
 * Rounds of connections, a number of them at a time, until `requests` more are sent and `seconds` are over.
 * @returns megabytes: the least memory that the service had after any round of the later half. What is waiting to
 * be collected comes and goes; what is kept does not.
 */
async function fuzz(seeds: () => number, requests: number, seconds: number): Promise<number> {
  const memory: number[] = []
  const goal = sent + requests
  const end = performance.now() + seconds * 1000
  while (sent < goal || performance.now() < end) {
    const seed = seeds()
    const property = fc.asyncProperty(
      fc.array(conversations(keys), { minLength: CONNECTIONS, maxLength: CONNECTIONS }),
      async all => {
        const faults = (await Promise.all(all.map(talk))).flat()
        if (faults.length > 0) throw new Error(faults.join('\n'))
        await expectService()
      },
    )
    // Not shrunk: a fault shows its request.
    const { failed, errorInstance } = await fc.check(property, { seed, numRuns: 10, endOnFailure: true })
    if (failed) {
      const told = [`TEST_FUZZ_SEED=${seed} repeats it`, (errorInstance as Error).message, ...errorsLogged()]
      throw new Error(told.join('\n'))
    }
    memory.push(residentMemory())
  }
  return Math.min(...memory.slice(-Math.ceil(memory.length / 2)))
}

/** It goes on for those who mean well. */
async function expectService(): Promise<void> {
  const headers = { authorization: `Bearer ${keys.token}` }
  const response = await fetch(`${service.url}${LIST}?page=1`, { headers })
  expect(response.status).toBe(200)
  await response.text()
}

/** The lines of the service's log that say that something was not foreseen. */
function errorsLogged(): string[] {
  return service
    .stdout()
    .split('\n')
    .filter(line => /"level":[56]0|unforeseen/.test(line))
}

/** Megabytes of memory that the service has right now (Linux only; elsewhere 0). */
function residentMemory(): number {
  try {
    return (
      Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) / 1024
    )
  } catch {
    return 0
  }
}

test('hostile requests, thousands of them, get documented answers and no more memory', async () => {
  let seed = SEED
  const seeds = () => seed++
  const began = performance.now()
  await fuzz(seeds, WARM_UP, 0)
  const half = await fuzz(seeds, REQUESTS / 2, MINUTES * 30)
  const whole = await fuzz(seeds, REQUESTS / 2, MINUTES * 30)
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(
    `fuzz: ${sent} requests in ${seconds} s from seed ${SEED}; ${Math.round(half)} MB after half of them, ${Math.round(whole)} MB after all`,
  )
  expect(whole).toBeLessThan(half + MORE_MEMORY)

  service.signal('SIGTERM')
  const { code, stderr } = await service.finished
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(errorsLogged()).toEqual([])
})
