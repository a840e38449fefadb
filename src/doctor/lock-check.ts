import { setTimeout as sleep } from 'node:timers/promises'
import type { Runner } from '../postgres/statement.ts'
import { type Blocker, pageBlockers } from '../tables/locks.ts'
import { type Finding, ok, wrong } from './finding.ts'

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
  return blockers.length === 0
    ? ok('locks', 'no table that pages need is locked')
    : wrong('locks', blockers.map(describe).join('; '))
}

const describe = ({ pid, role, tables }: Blocker) =>
  `pages wait for process ${pid} of ${role === null ? 'an unknown role' : `role ${role}`}, which locks ${tables.join(', ')}: ` +
  `end its transaction, or select pg_terminate_backend(${pid})`
