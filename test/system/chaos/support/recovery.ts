import { expect } from 'bun:test'
import { cpus, loadavg } from 'node:os'
import { LIST } from '../../../support/http.ts'
import type { Answer, Kind } from './answer.ts'
import type { Client } from './client.ts'
import type { Watch } from './watch.ts'

/**
 * How long after the database's return every endpoint has to be well again, milliseconds; longer on a machine that has
 * more to do than it has cores, by as much.
 */
const recoveryMs = () => 2000 * Math.max(1, (loadavg()[0] ?? 0) / cpus().length)

/** Between two questions, which do not wait for each other. */
const INTERVAL_MS = 50

/**
 * Holds that every endpoint answers 200, and /ready too, within 2 s from now. New questions are asked all the time,
 * since the ones from before may wait for what will never answer.
 */
export async function recovers(client: Client, watch: Watch, id: number): Promise<void> {
  const start = performance.now()
  const after: Partial<Record<Kind | 'ready', number>> = {}
  const open: Promise<unknown>[] = []
  const note = (answer: Answer | undefined) => {
    if (answer?.status === 200) after[answer.kind] ??= Math.round(answer.had - start)
  }
  const ready = watch.ready().then(at => {
    after.ready = Math.round(at - start)
  })
  while (Object.keys(after).length < 4 && performance.now() - start < 30_000) {
    if (after.list === undefined) open.push(client.ask(`${LIST}?page=100&offset=0`).then(note))
    if (after.retrieve === undefined) open.push(client.ask(`${LIST}/${id}`).then(note))
    // Also after 401, where the database knows none of the tokens from before.
    if (after.token === undefined || after.list === undefined) open.push(client.askToken().then(note))
    await Bun.sleep(INTERVAL_MS)
  }
  await Promise.all([...open, ready])
  const late = Object.entries(after).filter(([, milliseconds]) => milliseconds > recoveryMs())
  expect({ after, late }).toEqual({ after, late: [] })
  expect(Object.keys(after).sort()).toEqual(['list', 'ready', 'retrieve', 'token'])
}
