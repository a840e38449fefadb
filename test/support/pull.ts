import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import type { FormatName } from '../../src/pull/formats.ts'
import type { PullProgress, PullResult } from '../../src/pull/job.ts'
import { pull } from '../../src/pull/pull.ts'
import type { Query } from '../../src/pull/query.ts'
import { sampleNdjson } from '../../src/sample/generate.ts'
import { emptyFolder } from './executable.ts'
import { importText } from './import.ts'
import { authorize, type TestService } from './service.ts'

/** Loads 1,000 sample assessments into a service, and gives an integration all of them. */
export async function provisionSample(service: TestService) {
  await importText(service.sql, [...sampleNdjson({ assessments: 1000 })].join(''))
  const ids = async (table: string) =>
    (await service.sql<{ id: string }[]>`select id from ${service.sql(table)}`).map(row => Number(row.id))
  return await authorize(service, await ids('organizations'), await ids('products'))
}

/** What happens before the n-th request for the list (1 is the first); a Response is the answer to it. */
export type Hook = (n: number, request: Request) => unknown

/** Something between the client and a service that a test can act in. */
export interface Front {
  baseUrl: string
  /** Query strings of the list requests so far. */
  lists: string[]
  /** How many tokens were asked for. */
  tokens: number
  /** The present hook. */
  hook: Hook
  stop(): Promise<void>
}

/** Passes requests on to the service, bytes and headers as they are; with a certificate over HTTPS. */
export function startFront(service: { baseUrl: string }, tls?: { cert: string; key: string }): Front {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    ...(tls && { tls }),
    async fetch(request): Promise<Response> {
      const { pathname, search } = new URL(request.url)
      if (pathname === '/oauth/token') front.tokens++
      else {
        front.lists.push(search.slice(1))
        const answer = await front.hook(front.lists.length, request)
        if (answer instanceof Response) return answer
      }
      const { method, headers } = request
      const body = method === 'POST' ? await request.arrayBuffer() : null
      return await fetch(service.baseUrl + pathname + search, { method, headers, body, decompress: false })
    },
  })
  const front: Front = {
    baseUrl: `${tls ? 'https' : 'http'}://127.0.0.1:${server.port}`,
    lists: [],
    tokens: 0,
    hook: () => {},
    stop: () => server.stop(true),
  }
  return front
}

/** A service that needs no database: these records (texts of JSON) behind the API, page by page. */
export function startStub(records: string[], page = pageOf): Front {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request): Promise<Response> {
      const { pathname, searchParams } = new URL(request.url)
      if (pathname === '/oauth/token') {
        stub.tokens++
        return Response.json({
          access_token: `t${stub.tokens}`,
          token_type: 'Bearer',
          expires_in: 7200,
          created_at: 1,
        })
      }
      stub.lists.push(searchParams.toString())
      const answer = await stub.hook(stub.lists.length, request)
      if (answer instanceof Response) return answer
      const offset = Number(searchParams.get('offset'))
      return json(page(records.slice(offset, offset + 100), records.length, offset))
    },
  })
  const stub: Front = {
    baseUrl: `http://127.0.0.1:${server.port}`,
    lists: [],
    tokens: 0,
    hook: () => {},
    stop: () => server.stop(true),
  }
  return stub
}

export const json = (body: string) =>
  new Response(body, { headers: { 'content-type': 'application/json; charset=utf-8' } })

/** Passes connections on, and breaks off in the middle of the next `cuts` answers. */
export async function startRelay(target: {
  baseUrl: string
}): Promise<{ baseUrl: string; cuts: number; stop(): void }> {
  const { hostname, port } = new URL(target.baseUrl)
  const server = createServer(client => {
    const upstream = connect(Number(port), hostname)
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy())
    client.on('data', bytes => upstream.write(bytes))
    upstream.on('data', (bytes: Buffer) => {
      if (relay.cuts === 0) return client.write(bytes)
      relay.cuts--
      return client.write(bytes.subarray(0, bytes.length >> 1), () => client.destroy())
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const relay = {
    baseUrl: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    cuts: 0,
    stop: () => void server.close(),
  }
  return relay
}

/** A list answer as the service writes it. */
export function pageOf(records: string[], count: number, offset: number): string {
  return `{"data":[${records.join()}],"meta":{"count":${count},"offset":${offset},"page":100}}`
}

/** A record of a stub. */
export const record = (id: number | bigint | string, name = `Name ${id}`) =>
  `{"id":${id},"seid":null,"name":${JSON.stringify(name)},"certified_on":"2026-03-01","results":[{"assessment_id":${id},"assessment_name":"A","certified_on":"2026-03-01","proctor_id":7,"proctor_name":"P"}]}`

export interface PullOptions {
  format?: FormatName
  query?: Partial<Query>
  timeoutMs?: number
  retryForMs?: number
  signal?: AbortSignal
}

/** A pull, and everything that was told of it. */
export interface Pulled {
  result: PullResult
  notes: string[]
  pauses: [reason: string, milliseconds: number][]
  progress: PullProgress[]
}

/** Pulls from `baseUrl` as an integration into a file; a failure is thrown with the notes before it. */
export async function pullFrom(
  baseUrl: string,
  client: { clientId: string; clientSecret: string },
  out: string,
  options: PullOptions = {},
): Promise<Pulled> {
  const { format = 'ndjson', query, timeoutMs = 20_000, retryForMs = 20_000, signal } = options
  const told = { notes: [] as string[], pauses: [] as Pulled['pauses'], progress: [] as PullProgress[] }
  const result = await pull(
    {
      service: { baseUrl, clientId: client.clientId, clientSecret: client.clientSecret },
      patience: { timeoutMs, retryForMs },
      query: { filter: {}, sort: 'certified_on', order: 'ASC', ...query },
      format,
      out,
    },
    {
      onProgress: progress => told.progress.push(progress),
      onPause: (reason, milliseconds) => told.pauses.push([reason, milliseconds]),
      onNote: note => told.notes.push(note),
      signal: signal ?? new AbortController().signal,
    },
  )
  return { result, ...told }
}

export const ANYBODY = { clientId: 'id', clientSecret: 'Xq7Secret' }

/** A path for an output in a folder of its own. */
export const outputIn = (name = 'out.ndjson') => join(emptyFolder(), name)

export const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)

/** The finished documents of everything the service has, in the order of the export. */
export async function documents({ sql }: TestService): Promise<string[]> {
  const rows = await sql<
    { document: string }[]
  >`select document from export_records order by certified_on, id`
  return rows.map(({ document }) => document)
}

/** The rows of a Parquet file. */
export function readParquet(path: string): Promise<Record<string, unknown>[]> {
  const { buffer, byteOffset, byteLength } = readFileSync(path)
  const file = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
  return parquetReadObjects({ file, compressors: { ZSTD: bytes => Bun.zstdDecompressSync(bytes) } })
}
