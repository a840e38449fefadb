import { setTimeout as sleep } from 'node:timers/promises'
import type { Runner } from '../postgres/statement.ts'
import { type Blocker, pageBlockers } from '../tables/locks.ts'
import { type Finding, ok, warning, wrong } from './finding.ts'

/** Migrations and vacuum have such a lock for less than that. */
const BRIEF_MS = 1000

/** Whether a session locks a table that pages need, and for longer than maintenance does. */
export async function checkLocks(db: Runner): Promise<Finding> {
  let blockers = await pageBlockers(db)
  if (blockers.length > 0) {
    const before = new Set(blockers.map(({ pid }) => pid))
    await sleep(BRIEF_MS)
    blockers = (await pageBlockers(db)).filter(({ pid }) => before.has(pid))
  }
  if (blockers.length === 0) return ok('locks', 'no table that pages need is locked')
  const isOwn = blockers.every(blocker => blocker.isOwn && blocker.waitsFor.length === 0)
  return (isOwn ? warning : wrong)('locks', blockers.map(describe).join('; '))
}

function describe({ pid, role, tables, isOwn, waitsFor }: Blocker): string {
  const [verb, ends] = waitsFor.length === 0 ? ['locks', [pid]] : ['is to lock', waitsFor]
  const who = `process ${pid} of ${role === null ? 'an unknown role' : `role ${role}`}`
  const what = `pages wait for ${who}, which ${verb} ${tables.join(', ')}`
  if (isOwn && waitsFor.length === 0) return `${what}: a command of axport, wait for its end`
  const others =
    waitsFor.length === 0 ? 'its transaction' : `what it waits for, process ${waitsFor.join(', ')}`
  return `${what}: end ${others}, or select ${ends.map(end => `pg_terminate_backend(${end})`).join(', ')}`
}
