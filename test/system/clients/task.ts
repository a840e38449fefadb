import { createInterface } from 'node:readline'

/** The task of a program, from its environment. Programs in other languages read the same variables. */
export const TASK = {
  baseUrl: setting('BASE_URL'),
  clientId: setting('CLIENT_ID'),
  clientSecret: setting('CLIENT_SECRET'),
  style: setting('STYLE'),
  /**
   * walk: read all pages. pause: print a line after the first page, and wait for one. grant: request another grant
   * type.
   */
  job: setting('JOB'),
}

/** An error answer, with the parts that the library shows. */
export interface Refusal {
  /** The class of the library's error, or of the response if the library throws none. */
  kind: string
  status?: number | undefined
  error?: string | undefined
  description?: string | undefined
  challenge?: string | undefined
}

export interface Page {
  data: { id: number }[]
  meta: { count: number }
}

/** The parts of a program that differ between libraries. */
export interface Library<Token> {
  /** A new token, and its lifetime in seconds as the library reports it. */
  token(): Promise<{ token: Token; lifetime: number }>
  /** Requests a grant type that the token endpoint does not support. */
  otherGrant(): Promise<unknown>
  page(token: Token, url: URL): Promise<Page>
  /** The error answer in an error; undefined for any other error. */
  refusal(error: unknown): Promise<Refusal | undefined>
}

/** Does the task and prints one line of JSON about it: `Seen` in run.ts. */
export async function perform<Token>(library: Library<Token>): Promise<void> {
  const seen: { ids: number[]; count?: number; lifetime?: number; refused?: Refusal } = { ids: [] }
  try {
    if (TASK.job === 'grant') await library.otherGrant()
    else await walk()
  } catch (error) {
    seen.refused = await orThrow(error)
  }
  console.log(JSON.stringify(seen))

  async function walk(): Promise<void> {
    let token = await freshToken()
    let offset = 0
    do {
      const url = new URL(`${TASK.baseUrl}/api/v1/ax/assessments`)
      url.search = new URLSearchParams({ page: '100', offset: `${offset}`, sort: 'certified_on' }).toString()
      let page: Page
      try {
        page = await library.page(token, url)
      } catch (error) {
        if (seen.refused) throw error
        seen.refused = await orThrow(error)
        token = await freshToken()
        continue
      }
      seen.ids.push(...page.data.map(({ id }) => id))
      seen.count = page.meta.count
      if (offset === 0 && TASK.job === 'pause') await pause()
      offset += 100
    } while (seen.count === undefined || offset < seen.count)
  }

  async function freshToken(): Promise<Token> {
    const { token, lifetime } = await library.token()
    seen.lifetime = lifetime
    return token
  }

  async function orThrow(error: unknown): Promise<Refusal> {
    const refusal = await library.refusal(error)
    if (!refusal) throw error
    return refusal
  }
}

async function pause(): Promise<void> {
  console.log('paused')
  const lines = createInterface({ input: process.stdin })
  await lines[Symbol.asyncIterator]().next()
  lines.close()
}

function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}
