import { afterAll } from 'bun:test'
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { cluster } from './cluster.ts'

/** A role of the server that may log in and has been granted nothing. */
export interface Role {
  name: string
  /** The same database as somebody else's URL, as this role. */
  url(of: string): string
}

/**
 * Makes roles, which belong to the whole server and not to a database, and drops them when the tests of the
 * group have ended. Call it after the afterAll() that drops the databases in which they have privileges.
 */
export function useRoles(): (name?: string) => Promise<Role> {
  const names: string[] = []
  afterAll(async () => {
    await asSuperuser(async sql => {
      for (const name of names) await sql`drop role ${identifier(sql, name)}`
    })
  })
  return async (name = `axport_test_${randomBytes(6).toString('hex')}`) => {
    const password = randomBytes(16).toString('hex')
    await asSuperuser(sql => sql.unsafe(`create role ${quoted(name)} login password '${password}'`))
    names.push(name)
    return {
      name,
      url: of => {
        const url = new URL(of)
        // Not what URL makes of it: a quote or a dot shall arrive as it is.
        url.username = encodeURIComponent(name)
        url.password = password
        return url.href
      },
    }
  }
}

/** A role's name as SQL takes it, whatever it is made of. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

const identifier = (sql: postgres.Sql, name: string) => sql.unsafe(quoted(name))

async function asSuperuser(work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres((await cluster()).url(), { max: 1, onnotice: () => {} })
  try {
    await work(sql)
  } finally {
    await sql.end({ timeout: 0 })
  }
}
