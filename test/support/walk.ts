import { axport } from './executable.ts'
import { type AssessmentRecord, list, newToken } from './http.ts'

/** What `axport integration create --json` prints. */
export interface Credentials {
  client_id: string
  client_secret: string
}

/** Creates an integration whose scope is every organization and product in the import lines. */
export async function provision(env: Record<string, string>, lines: string): Promise<Credentials> {
  const ids = (type: string) =>
    [...lines.matchAll(new RegExp(`"type":"${type}","id":(\\d+)`, 'g'))].map(match => match[1]).join(',')
  const scope = ['--organizations', ids('organization'), '--products', ids('product')]
  const { code, stdout, stderr } = await axport(['integration', 'create', 'Walk', ...scope, '--json'], {
    env,
  })
  if (code !== 0) throw new Error(`axport integration create failed: ${stderr}`)
  return JSON.parse(stdout) as Credentials
}

/**
 * Requests a token and then page after page until offset reaches meta.count (contract L7). Throws if an
 * answer is not a page, or if the count changes.
 */
export async function walk(url: string, credentials: Credentials): Promise<AssessmentRecord[]> {
  const token = await newToken(url, credentials)
  const records: AssessmentRecord[] = []
  let count: number | undefined
  for (let offset = 0; count === undefined || offset < count; offset += 100) {
    const { data, meta } = await list(url, token, `page=100&offset=${offset}`)
    if (meta.offset !== offset || meta.page !== 100 || (count !== undefined && meta.count !== count))
      throw new Error(`meta is ${JSON.stringify(meta)} at offset ${offset}, the count was ${count}`)
    count = meta.count
    records.push(...data)
  }
  return records
}
