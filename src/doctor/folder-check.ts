import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** What the folder of an embedded database may hold before there is one in it; see postgres/embedded/embedded.ts. */
const CLUSTER = 'pglite'
const LEFTOVERS = ['axport.lock', '.s.PGSQL.', `${CLUSTER}.`, 'lost+found']

/**
 * Why there is no embedded database to look at; undefined where there is one, or where opening it says more.
 * To open a mistyped folder would make a database in it, and doctor only looks.
 */
export function missingEmbedded(url: string): string | undefined {
  const dir = /^embedded:(.+)$/s.exec(url)?.[1]
  if (dir === undefined || existsSync(join(dir, CLUSTER))) return undefined
  if (existsSync(dir) && holdsSomethingElse(dir)) return undefined
  return `${dir} holds no database: is the folder in DATABASE_URL right? axport migrate makes a new one there`
}

function holdsSomethingElse(dir: string): boolean {
  try {
    return readdirSync(dir).some(name => !LEFTOVERS.some(start => name.startsWith(start)))
  } catch {
    return true
  }
}
