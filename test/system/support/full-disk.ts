import { expect } from 'bun:test'
import type { Line } from '../../support/fixtures.ts'
import { type Credentials, postToken, successful } from '../../support/http.ts'
import type { Served } from '../../support/served.ts'
import { stateLines } from '../chaos/support/service.ts'
import { importing } from './operations.ts'

/** Asks for tokens until one is refused, by the documented 503; those that were issued. */
export async function issueUntilRefused(url: string, credentials: Credentials): Promise<string[]> {
  const tokens: string[] = []
  for (;;) {
    const answer = await postToken(url, credentials)
    if (answer.status !== 503) {
      tokens.push((successful(answer) as { access_token: string }).access_token)
      continue
    }
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(answer.body).toEqual({
      error: 'temporarily_unavailable',
      error_description: 'The service is temporarily unavailable: try again later',
    })
    return tokens
  }
}

/** Imports lines, which has to fail with exit code 1; the last line on standard error. */
export async function failedImport(url: string, lines: Line[]): Promise<string> {
  const { code, stdout, stderr } = await importing(url, lines)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  // Progress comes before.
  return stderr.trimEnd().split('\n').at(-1) ?? ''
}

/** Of what happens by itself, which may or may not meet the full disk. */
const BY_CHANCE = 'expired tokens could not be purged; trying again later'

/** What the log of a service has to say of its database, from the first warning on. */
export function warnings(service: Served): unknown[] {
  const lines = stateLines(service).filter(({ msg }) => msg !== BY_CHANCE)
  const first = lines.findIndex(({ level }) => Number(level) >= 40)
  return first < 0 ? [] : lines.slice(first).map(({ msg }) => msg)
}
