import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { sampleNdjson } from '../../../src/sample/generate.ts'
import { axport, type Running, serve } from '../../support/executable.ts'
import { tryList } from '../../support/http.ts'
import { holds, type Runs } from '../../support/property.ts'
import { firstToken } from '../../support/served.ts'
import { openTestDatabase, type TestDatabase } from '../../support/service.ts'
import { provision } from '../../support/walk.ts'
import { type Conversation, conversations, type Keys } from './hostile.ts'
import { faultsOf } from './judge.ts'
import { converse, LIMITS } from './wire.ts'

/** The number of concurrent connections; one run of the property has that many conversations. */
const CONNECTIONS = 20

/** A process of `axport serve` with a small export, and valid credentials. */
export interface Target {
  service: Running & { url: string }
  keys: Keys
  database: TestDatabase
}

/** Starts a service to be fuzzed. cleanUp() ends the service; the test closes the database. */
export async function startTarget(): Promise<Target> {
  const database = await openTestDatabase()
  const env = { DATABASE_URL: database.url }
  const lines = [...sampleNdjson({ assessments: 60 })].join('')
  expect((await axport(['import', '-'], { env, stdin: { text: lines } })).code).toBe(0)
  const credentials = await provision(env, lines)
  const service = await serve({ ...env, ...LIMITS })
  const ids = [...lines.matchAll(/"type":"assessment","id":(\d+)/g)].map(match => Number(match[1]))
  const { client_id: clientId, client_secret: clientSecret } = credentials
  const token = await firstToken(service.url, credentials)
  return { service, database, keys: { host: new URL(service.url).host, token, clientId, clientSecret, ids } }
}

/**
 * The number of sent requests, and the service's memory in megabytes after each round (0 on systems other than Linux).
 */
export interface Fuzzed {
  requests: number
  memory: number[]
}

/** Runs hostile conversations, and throws if one of them gets an undocumented answer. Failures are not shrunk. */
export async function fuzz({ service, keys }: Target, runs: Omit<Runs, 'shrink'>): Promise<Fuzzed> {
  const fuzzed: Fuzzed = { requests: 0, memory: [] }
  const round = fc
    .array(conversations(keys), { minLength: CONNECTIONS, maxLength: CONNECTIONS })
    // A fault names its request. Printing all bytes of a run would hide the fault.
    .map(all => Object.assign(all, { [fc.toStringMethod]: () => `${CONNECTIONS} conversations` }))
  const faultsIn = async (conversation: Conversation) => {
    const received = await converse(service.url, conversation)
    fuzzed.requests += received.sent
    return faultsOf(conversation, received)
  }
  const expectNone = async (talks: Promise<string[]>[]) => {
    const faults = (await Promise.all(talks)).flat()
    if (faults.length > 0) throw new Error([...faults, ...errorsLogged(service)].join('\n'))
  }
  // A broken request may lack its end: the server waits for it, and the next round does not.
  const waiting: Promise<string[]>[] = []
  const property = fc.asyncProperty(round, async all => {
    waiting.push(...all.filter(mayLackItsEnd).map(faultsIn))
    await expectNone(all.filter(conversation => !mayLackItsEnd(conversation)).map(faultsIn))
    // The service still answers ordinary requests.
    expect((await tryList(service.url, keys.token, 'page=1')).status).toBe(200)
    fuzzed.memory.push(residentMemory(service.pid))
  })
  await holds(property, { ...runs, shrink: false })
  await expectNone(waiting)
  return fuzzed
}

const mayLackItsEnd = ({ requests, ending }: Conversation) =>
  ending === 'wait' && requests.some(({ isBroken }) => isBroken)

/** Ends the service, and checks that it exits with 0 and has logged no unforeseen error. */
export async function expectGoodEnd({ service }: Target): Promise<void> {
  service.signal('SIGTERM')
  const { code, stderr } = await service.finished
  expect({ code, stderr, errors: errorsLogged(service) }).toEqual({ code: 0, stderr: '', errors: [] })
}

/** The log lines of the service about unforeseen errors. */
function errorsLogged(service: Running): string[] {
  return service
    .stdout()
    .split('\n')
    .filter(line => /"level":[56]0|unforeseen/.test(line))
}

function residentMemory(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  } catch {
    return 0
  }
}
