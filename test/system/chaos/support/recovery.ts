import { expect } from 'bun:test'
import { cpus, loadavg } from 'node:os'
import { LIST } from '../../../support/http.ts'
import type { Answer, Kind } from './answer.ts'
import type { Client } from './client.ts'
import type { HealthProbe } from './health-probe.ts'

/**
 * The milliseconds within which every endpoint must answer 200 after the database's return: 2 s, multiplied by the load
 * of the machine if that is more than its cores.
 */
export const recoveryMs = () => 2000 * Math.max(1, (loadavg()[0] ?? 0) / cpus().length)

/** The pause between two requests, which do not wait for each other. */
const INTERVAL_MS = 50

/**
 * Checks that every endpoint and /ready answer 200 within 2 s from now. New requests are sent all the time, because
 * earlier ones may wait on a dead connection.
 */
export async function recovers(client: Client, probe: HealthProbe, id: number): Promise<void> {
  const start = performance.now()
  const after: Partial<Record<Kind | 'ready', number>> = {}
  const open: Promise<unknown>[] = []
  const note = (answer: Answer | undefined) => {
    if (answer?.status === 200) after[answer.kind] ??= Math.round(answer.receivedAt - start)
  }
  const ready = probe.ready().then(at => {
    after.ready = Math.round(at - start)
  })
  while (Object.keys(after).length < 4 && performance.now() - start < 30_000) {
    if (after.list === undefined) open.push(client.attempt(`${LIST}?page=100&offset=0`).then(note))
    if (after.retrieve === undefined) open.push(client.attempt(`${LIST}/${id}`).then(note))
    // A new token also helps after a 401, if the other database does not have the former tokens.
    if (after.token === undefined || after.list === undefined) open.push(client.requestToken().then(note))
    await Bun.sleep(INTERVAL_MS)
  }
  await Promise.all([...open, ready])
  const late = Object.entries(after).filter(([, milliseconds]) => milliseconds > recoveryMs())
  expect({ after, late }).toEqual({ after, late: [] })
  expect(Object.keys(after).sort()).toEqual(['list', 'ready', 'retrieve', 'token'])
}
