import { setTimeout as sleep } from 'node:timers/promises'
import type { Runner } from '../postgres/statement.ts'
import { type Blocker, pageBlockers } from '../tables/locks.ts'
import { type Finding, ok, warning, wrong } from './finding.ts'

/** Migrations and vacuum have such a lock for less than that. */
const BRIEF_MS = 1000

/** Whether something locks a table that pages need, and for longer than maintenance does. */
export async function checkLocks(db: Runner): Promise<Finding> {
  let blockers = await pageBlockers(db)
  if (blockers.length > 0) {
    const before = new Set(blockers.map(nameOf))
    await sleep(BRIEF_MS)
    blockers = (await pageBlockers(db)).filter(blocker => before.has(nameOf(blocker)))
  }
  if (blockers.length === 0) return ok('locks', 'no table that pages need is locked')
  const isOwn = blockers.every(blocker => blocker.isOwn && !waits(blocker))
  return (isOwn ? warning : wrong)('locks', blockers.map(describe).join('; '))
}

const nameOf = ({ pid, gid }: Blocker) => pid ?? gid

const waits = ({ waitsFor, waitsForPrepared }: Blocker) => waitsFor.length + waitsForPrepared.length > 0

function describe(blocker: Blocker): string {
  const { pid, gid, role, tables, isOwn, waitsFor, waitsForPrepared } = blocker
  const name = gid === null ? `process ${pid}` : `the prepared transaction ${literal(gid)}`
  const who = `${name} of ${role === null ? 'an unknown role' : `role ${role}`}`
  const what = `pages wait for ${who}, which ${waits(blocker) ? 'is to lock' : 'locks'} ${tables.join(', ')}`
  if (gid !== null) return `${what}: commit it, or, as that role or a superuser, ${rollback(gid)}`
  if (!waits(blocker))
    return isOwn
      ? `${what}: a command of axport, wait for its end`
      : `${what}: end its transaction, or select ${terminate(pid)}`
  const others = [
    ...(waitsFor.length > 0 ? [`process ${waitsFor.join(', ')}`] : []),
    ...waitsForPrepared.map(each => `the prepared transaction ${literal(each)}`),
  ]
  const ends = [
    ...(waitsFor.length > 0 ? [`select ${waitsFor.map(terminate).join(', ')}`] : []),
    ...waitsForPrepared.map(rollback),
  ]
  return `${what}: end what it waits for, ${others.join(', ')}, or ${ends.join('; ')}`
}

const terminate = (pid: number | null) => `pg_terminate_backend(${pid})`

const rollback = (gid: string) => `rollback prepared ${literal(gid)}`

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
