import { afterAll, afterEach, beforeAll, beforeEach } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Form } from '../../src/pull/formats.ts'
import type { PullComparison, PullQuery, PullResult } from '../../src/pull/job.ts'
import { pull } from '../../src/pull/pull.ts'
import { sampleNdjson } from '../../src/sample/generate.ts'
import { cleanUp, emptyFolder } from './executable.ts'
import { use } from './hooks.ts'
import { importText } from './import.ts'
import { Oracle, parseRequest } from './oracle.ts'
import { scopesOf } from './platform.ts'
import { authorize, startService, type TestService } from './service.ts'
import { readPlatform } from './stored-platform.ts'

/** Loads 1,000 sample assessments into a service, and provisions an integration that may read all of them. */
export async function provisionSample(service: TestService) {
  await importText(service.sql, [...sampleNdjson({ assessments: 1000 })].join(''))
  const [{ organizations, products }] = scopesOf(await readPlatform(service.sql))
  return await authorize(service, organizations, products)
}

/** A service with sample assessments and a front server, with the environment and arguments of `axport pull`. */
export const usePullStage = () => use(startPullStage)

async function startPullStage() {
  const service = await startService()
  const client = await provisionSample(service)
  const front = startFront(service)
  return {
    service,
    front,
    /** The lines that a pull must write. */
    expected: await documents(service),
    env: { AXPORT_CLIENT_SECRET: client.clientSecret },
    /** The arguments of a pull through the front server into `out`. */
    pulling: (out: string, ...more: string[]) => [
      'pull',
      ...['--base-url', front.baseUrl, '--client-id', client.clientId, '--out', out],
      ...more,
    ],
    async close() {
      await front.stop()
      await service.close()
      await cleanUp()
    },
  }
}

/** What a test pulls from. */
interface PullSource {
  service: TestService
  client: { clientId: string; clientSecret: string }
  /** The lines that a pull must write. */
  expected: string[]
  /** A new one for each test. */
  front: Front
}

/** A service with sample assessments behind a front server, for the tests of one file. It is empty until they run. */
export function usePullSource(): PullSource {
  const source = {} as PullSource
  beforeAll(async () => {
    source.service = await startService()
    source.client = await provisionSample(source.service)
    source.expected = await documents(source.service)
  })
  afterAll(async () => {
    await source.service.close()
    await cleanUp()
  })
  beforeEach(() => {
    source.front = startFront(source.service)
  })
  afterEach(() => source.front.stop())
  return source
}

/** All records of a service as JSON that match a query in the spelling of contract F1, by the oracle. */
export async function documents({ sql }: TestService, query = ''): Promise<string[]> {
  const platform = await readPlatform(sql)
  const [everything] = scopesOf(platform)
  return new Oracle(platform).documents(everything, parseRequest(query))
}

/** Called before the n-th request for the list (the first is 1). A returned Response becomes the answer. */
export type Hook = (n: number, request: Request) => unknown

/** A server between pull and a service, in which a test can change answers. */
export interface Front {
  baseUrl: string
  /** The query strings of the list requests so far. */
  lists: string[]
  /** The number of token requests so far. */
  tokens: number
  /** The current hook; a test may replace it. */
  hook: Hook
  stop(): Promise<void>
}

/**
 * Starts a server that records requests, and answers those that the hook does not answer. With a certificate it speaks
 * HTTPS.
 */
export function startServer(
  answer: (request: Request, url: URL) => Response | Promise<Response>,
  tls?: { cert: string; key: string },
): Front {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    ...(tls && { tls }),
    async fetch(request): Promise<Response> {
      const url = new URL(request.url)
      if (url.pathname === '/oauth/token') front.tokens++
      else {
        front.lists.push(url.search.slice(1))
        const hooked = await front.hook(front.lists.length, request)
        if (hooked instanceof Response) return hooked
      }
      return await answer(request, url)
    },
  })
  const baseUrl = `${tls ? 'https' : 'http'}://127.0.0.1:${server.port}`
  const front: Front = { baseUrl, lists: [], tokens: 0, hook: () => {}, stop: () => server.stop(true) }
  return front
}

/** Starts a front server that passes requests to a service with unchanged bytes and headers. */
export function startFront(service: { baseUrl: string }, tls?: { cert: string; key: string }): Front {
  const passOn = async ({ method, headers, body }: Request, { pathname, search }: URL) =>
    await fetch(service.baseUrl + pathname + search, { method, headers, body, decompress: false })
  return startServer(passOn, tls)
}

/** Starts a server without a database that serves these records (as JSON) through the API, page by page. */
export function startStub(records: string[]): Front {
  return startServer((_, { pathname, searchParams }) => {
    if (pathname === '/oauth/token') return token()
    const offset = Number(searchParams.get('offset'))
    return json(pageOf(records.slice(offset, offset + 100), records.length, offset))
  })
}

export const token = () =>
  Response.json({ access_token: 'abc', token_type: 'Bearer', expires_in: 7200, created_at: 1 })

export const json = (body: string) =>
  new Response(body, { headers: { 'content-type': 'application/json; charset=utf-8' } })

/** A list answer in the format of the service. */
export function pageOf(records: string[], count: number, offset: number): string {
  return `{"data":[${records.join()}],"meta":{"count":${count},"offset":${offset},"page":100}}`
}

/** A record for startStub(), as JSON. */
export const record = (id: number | bigint | string, name = `Name ${id}`) =>
  `{"id":${id},"seid":null,"name":${JSON.stringify(name)},"first_name":"F","last_name":"L","email":"f@example.org","organization_id":4,"organization_name":"O","assessment_name":"A","certified_on":"2026-03-01","results":[{"assessment_id":${id},"assessment_name":"A","certified_on":"2026-03-01","proctor_id":7,"proctor_name":"P"}]}`

export interface PullOptions extends Partial<Form> {
  query?: Partial<PullQuery>
  timeoutMs?: number
  retryForMs?: number
  failIfEmpty?: boolean
  comparison?: PullComparison
  signal?: AbortSignal
}

/** The result of a pull, and everything that it reported. */
export interface Pulled {
  result: PullResult
  notes: string[]
  pauses: [reason: string, milliseconds: number][]
  progress: [done: number, total: number][]
}

/**
 * Pulls from `baseUrl` into a file, with the credentials of an integration. An error is thrown with the notes before
 * it.
 */
export async function pullFrom(
  baseUrl: string,
  client: { clientId: string; clientSecret: string },
  out: string,
  options: PullOptions = {},
): Promise<Pulled> {
  const { query, timeoutMs = 20_000, retryForMs = 20_000, signal, ...others } = options
  const reports = {
    notes: [] as string[],
    pauses: [] as Pulled['pauses'],
    progress: [] as Pulled['progress'],
  }
  const result = await pull(
    {
      service: { baseUrl, ...client, timeoutMs, retryForMs },
      query: { filter: {}, sort: 'certified_on', order: 'ASC', ...query },
      format: 'ndjson',
      isGzipped: false,
      inputs: [],
      ...others,
      out,
    },
    {
      onProgress: (...progress) => reports.progress.push(progress),
      onPause: (reason, milliseconds) => reports.pauses.push([reason, milliseconds]),
      onNote: note => reports.notes.push(note),
      onChangesWritten: () => {},
      signal: signal ?? new AbortController().signal,
    },
  )
  return { result, ...reports }
}

export const ANY_CREDENTIALS = { clientId: 'id', clientSecret: 'Xq7Secret' }

/** A path for an output, in a new folder. */
export const outputIn = (name = 'out.ndjson') => join(emptyFolder(), name)

export const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)
