import { expect } from 'bun:test'
import { LIST } from '../../../support/http.ts'
import type { Answer, Kind } from './answer.ts'
import type { Client } from './client.ts'
import type { HealthProbe } from './health-probe.ts'

/** The pause between two requests, which do not wait for each other. */
const INTERVAL_MS = 50

/** After so many milliseconds an endpoint that has not answered 200 has not recovered. */
const GIVE_UP_MS = 30_000

/**
 * Checks that every endpoint and /ready answer 200 again. New requests are sent all the time, because earlier ones may
 * wait on a dead connection. How long a recovery may take is tested when no other test runs.
 */
export async function recovers(client: Client, probe: HealthProbe, id: number): Promise<void> {
  const start = performance.now()
  const back = new Set<Kind | 'ready'>()
  const open: Promise<unknown>[] = []
  const note = (answer: Answer | undefined) => {
    if (answer?.status === 200) back.add(answer.kind)
  }
  const ready = probe.ready().then(() => back.add('ready'))
  while (back.size < 4 && performance.now() - start < GIVE_UP_MS) {
    if (!back.has('list')) open.push(client.attempt(`${LIST}?page=100&offset=0`).then(note))
    if (!back.has('retrieve')) open.push(client.attempt(`${LIST}/${id}`).then(note))
    // A new token also helps after a 401, if the other database does not have the former tokens.
    if (!back.has('token') || !back.has('list')) open.push(client.requestToken().then(note))
    await Bun.sleep(INTERVAL_MS)
  }
  await Promise.all([...open, ready])
  expect([...back].sort()).toEqual(['list', 'ready', 'retrieve', 'token'])
}
