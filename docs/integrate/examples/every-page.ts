/*
 * Reads every assessment from axport, or fails: copy this file and keep it. Bun, or Node from 22.18; no packages.
 *
 *     bun every-page.ts educators.ndjson
 *
 * writes one record a line, and replaces the file only when everything has been read. AXPORT_URL, AXPORT_CLIENT_ID and
 * AXPORT_CLIENT_SECRET come from the environment; so do two numbers of seconds: AXPORT_TIMEOUT for one answer (60), and
 * AXPORT_RETRY_FOR for repeating one request (300).
 */
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'

/** A record, whose fields docs/integrate/reference.md describes. */
export interface Assessment {
  id: number
  certified_on: string
  [field: string]: unknown
}

interface Settings {
  base: string
  clientId: string
  clientSecret: string
  timeoutSeconds: number
  retryForSeconds: number
}

/** Repeating the request does not help. */
export class Failure extends Error {}

/** The service answered with 401. */
class Unauthorized extends Failure {}

/** The request may succeed later, in `seconds` at the earliest. */
class TemporaryFailure extends Error {
  readonly seconds: number
  constructor(message: string, seconds = 0) {
    super(message)
    this.seconds = seconds
  }
}

/** Records were added, removed or moved while they were read: start over. */
export class DataChanged extends Error {}

const TEMPORARY = [408, 429, 500, 502, 503, 504]

export class Service {
  private readonly settings: Settings
  private token: string | undefined

  constructor(settings: Settings) {
    this.settings = { ...settings, base: settings.base.replace(/\/+$/, '') }
  }

  /**
   * Yields each record that matches filters such as ['filter[seids][]', 'A1'], in the order of day and id. What it has
   * yielded is complete when it ends without an error. @throws DataChanged or Failure
   */
  async *everyRecord(...filters: [string, string][]): AsyncGenerator<Assessment> {
    let count: number | undefined
    let read = 0
    let last: Assessment | undefined
    while (count === undefined || read < count) {
      // One record early: unless the last one comes again, records were added or removed before it.
      const { data, meta } = await this.page([...filters, ['offset', String(Math.max(read - 1, 0))]])
      if (last && compare(data.shift(), last) !== 0) throw new DataChanged(`after ${read} records`)
      if (meta.count !== (count ?? meta.count)) throw new DataChanged(`after ${read} records`)
      count = meta.count
      for (const record of data) {
        if (last && compare(record, last) <= 0) throw new DataChanged(`after ${read} records`)
        read++
        last = record
        yield record
      }
      if (read > count || (read < count && data.length === 0))
        throw new DataChanged(`after ${read} records of ${count}`)
    }
  }

  /** One page of the list. A token that was refused is renewed once. */
  private async page(parameters: [string, string][]) {
    const order: [string, string][] = [
      ['page', '100'],
      ['sort', 'certified_on'],
      ['order', 'ASC'],
    ]
    const path = `/api/v1/ax/assessments?${new URLSearchParams([...order, ...parameters])}`
    for (let isRenewed = false; ; isRenewed = true) {
      this.token ??= await this.newToken()
      try {
        const headers = { authorization: `Bearer ${this.token}` }
        const body = await this.answer(path, { headers })
        return body as { data: Assessment[]; meta: { count: number } }
      } catch (error) {
        if (!(error instanceof Unauthorized) || isRenewed) throw error
        this.token = undefined
      }
    }
  }

  private async newToken(): Promise<string> {
    const { clientId: client_id, clientSecret: client_secret } = this.settings
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
    const body = await this.answer('/oauth/token', { method: 'POST', body: form })
    return (body as { access_token: string }).access_token
  }

  /** The JSON of the answer with status 200. Repeats the request after temporary failures. */
  private async answer(path: string, init: RequestInit) {
    const giveUp = Date.now() + this.settings.retryForSeconds * 1000
    const url = new URL(this.settings.base + path)
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.send(url, init)
      } catch (error) {
        if (!(error instanceof TemporaryFailure)) throw error
        // Longer each time, not the same for all clients, and at least as long as the service said.
        const growing = Math.min(30, 2 ** attempt / 2) * (0.5 + Math.random() / 2)
        const pause = Math.max(growing, error.seconds) * 1000
        if (Date.now() + pause > giveUp) throw new Failure(`${error.message}; given up`)
        console.warn(`${error.message}; again in ${(pause / 1000).toFixed(1)} s`)
        await new Promise(resolve => setTimeout(resolve, pause))
      }
    }
  }

  private async send(url: URL, init: RequestInit) {
    const what = `${init.method ?? 'GET'} ${url.origin}${url.pathname}`
    // For everything: name server, connection, headers and body.
    const signal = AbortSignal.timeout(this.settings.timeoutSeconds * 1000)
    let message: string
    let answer: Response
    let text: string
    try {
      // A redirect would take the secret or the token to another host.
      answer = await fetch(url, { ...init, signal, redirect: 'manual' })
      text = await answer.text()
      if (answer.status === 200) return JSON.parse(text) as unknown
      message = `${what}: ${answer.status} ${text.slice(0, 500).trim()}`
    } catch (error) {
      // No connection, one that was reset, an answer that broke off or took too long, and text that is not JSON.
      throw new TemporaryFailure(`${what}: ${(error as Error).message}`)
    }
    if (TEMPORARY.includes(answer.status) || isBare(answer, text))
      throw new TemporaryFailure(message, secondsUntil(answer.headers.get('retry-after')))
    throw answer.status === 401 ? new Unauthorized(message) : new Failure(message)
  }
}

/** Whether this is a 400 for bytes that were no request: not those of this program, which are one. */
const isBare = ({ status, headers }: Response, text: string) =>
  status === 400 && text === '' && !headers.has('x-request-id')

/** The order of records: by day, then by id. */
function compare(one: Assessment | undefined, other: Assessment): number {
  if (one === undefined) return Number.NaN
  if (one.certified_on !== other.certified_on) return one.certified_on < other.certified_on ? -1 : 1
  return one.id - other.id
}

/** The seconds of a Retry-After, which is a number or a date; 0 if it is neither. */
function secondsUntil(retryAfter: string | null): number {
  if (/^\d+$/.test(retryAfter ?? '')) return Number(retryAfter)
  return (Date.parse(retryAfter ?? '') - Date.now()) / 1000 || 0
}

/** Writes every record to a file, or leaves the file as it is. Returns the number of records. */
export async function save(service: Service, path: string, starts = 4): Promise<number> {
  const partial = `${path}.partial`
  for (let start = 1; start <= starts; start++) {
    try {
      let written = 0
      const lines = async function* () {
        for await (const record of service.everyRecord()) {
          written++
          yield `${JSON.stringify(record)}\n`
        }
      }
      // Personal data: readable for the owner alone.
      await pipeline(lines, createWriteStream(partial, { mode: 0o600, flush: true }))
      if (written === 0)
        throw new Failure('the service has no records for this client; the file is left as it is')
      await rename(partial, path)
      return written
    } catch (error) {
      if (!(error instanceof DataChanged)) throw error
      console.warn(`the data changed ${error.message}; starting over`)
    } finally {
      await rm(partial, { force: true })
    }
  }
  throw new Failure(`the data changed during each of ${starts} reads`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const setting = (name: string, preset = '') => process.env[`AXPORT_${name}`] ?? preset
  const service = new Service({
    base: setting('URL'),
    clientId: setting('CLIENT_ID'),
    clientSecret: setting('CLIENT_SECRET'),
    timeoutSeconds: Number(setting('TIMEOUT', '60')),
    retryForSeconds: Number(setting('RETRY_FOR', '300')),
  })
  try {
    const [, , path] = process.argv
    if (!path) throw new Failure('usage: every-page.ts FILE')
    console.warn(`${await save(service, path)} records`)
  } catch (error) {
    console.error(error instanceof Failure ? error.message : error)
    process.exitCode = 1
  }
}
