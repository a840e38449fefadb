import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { sampleNdjson } from '../../../src/sample/generate.ts'
import { axport, type Running, serve } from '../../support/executable.ts'
import { newToken, tryList } from '../../support/http.ts'
import { holds, type Runs } from '../../support/property.ts'
import { openTestDatabase, type TestDatabase } from '../../support/service.ts'
import { provision } from '../../support/walk.ts'
import { conversations, type Keys } from './hostile.ts'
import { faultsOf } from './judge.ts'
import { converse } from './wire.ts'

/** Connections at a time; one round of the property is so many conversations. */
const CONNECTIONS = 20

/** The executable, serving a small export, and what is needed to be let in. */
export interface Target {
  service: Running & { url: string }
  keys: Keys
  database: TestDatabase
}

/** Starts a service to be fuzzed; cleanUp() ends it, and the database is the caller's to close. */
export async function startTarget(): Promise<Target> {
  const database = await openTestDatabase('postgres')
  const env = { DATABASE_URL: database.url }
  const lines = [...sampleNdjson({ assessments: 60 })].join('')
  expect((await axport(['import', '-'], { env, stdin: { text: lines } })).code).toBe(0)
  const credentials = await provision(env, lines)
  const service = await serve(env)
  const ids = [...lines.matchAll(/"type":"assessment","id":(\d+)/g)].map(match => Number(match[1]))
  const { client_id: clientId, client_secret: clientSecret } = credentials
  const token = await newToken(service.url, credentials)
  return { service, database, keys: { host: new URL(service.url).host, token, clientId, clientSecret, ids } }
}

/** How many requests were sent, and the service's memory in megabytes after each round (Linux only; elsewhere 0). */
export interface Fuzzed {
  requests: number
  memory: number[]
}

/** Rounds of hostile conversations; throws when one gets anything but documented answers. Failures are not shrunk. */
export async function fuzz({ service, keys }: Target, runs: Omit<Runs, 'shrink'>): Promise<Fuzzed> {
  const fuzzed: Fuzzed = { requests: 0, memory: [] }
  const round = fc
    .array(conversations(keys), { minLength: CONNECTIONS, maxLength: CONNECTIONS })
    // A fault names its request; all bytes of a round would hide it.
    .map(all => Object.assign(all, { [fc.toStringMethod]: () => `${CONNECTIONS} conversations` }))
  const property = fc.asyncProperty(round, async all => {
    const talks = all.map(async conversation => {
      const received = await converse(service.url, conversation)
      fuzzed.requests += received.sent
      return faultsOf(conversation, received)
    })
    const faults = (await Promise.all(talks)).flat()
    if (faults.length > 0) throw new Error([...faults, ...errorsLogged(service)].join('\n'))
    // The service goes on for those who mean well.
    expect((await tryList(service.url, keys.token, 'page=1')).status).toBe(200)
    fuzzed.memory.push(residentMemory(service.pid))
  })
  await holds(property, { ...runs, shrink: false })
  return fuzzed
}

/** Ends the service, which has to end well and to have logged nothing unforeseen. */
export async function expectGoodEnd({ service }: Target): Promise<void> {
  service.signal('SIGTERM')
  const { code, stderr } = await service.finished
  expect({ code, stderr, errors: errorsLogged(service) }).toEqual({ code: 0, stderr: '', errors: [] })
}

/** The lines of the service's log that say that something was not foreseen. */
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
