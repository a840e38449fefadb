import { afterAll } from 'bun:test'
import { randomBytes } from 'node:crypto'
import type postgres from 'postgres'
import { cluster } from './cluster.ts'
import { withConnection } from './with-connection.ts'

/** A role of the server that may log in and has no other privilege. */
export interface Role {
  name: string
  /** The URL of the same database for this role. */
  url(of: string): string
}

/**
 * Returns a function that creates roles, and drops the roles after the tests of the group. Call useRoles() after the
 * afterAll() that drops the databases in which the roles have privileges: roles belong to the whole server.
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
        // The setter of URL leaves some characters unescaped; the server must get quotes and dots unchanged.
        url.username = encodeURIComponent(name)
        url.password = password
        return url.href
      },
    }
  }
}

/** A role's name as a quoted identifier of SQL. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

const identifier = (sql: postgres.Sql, name: string) => sql.unsafe(quoted(name))

async function asSuperuser(work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  await withConnection((await cluster()).url(), work)
}
