import { expect, test } from 'bun:test'
import { watchOver } from '../../src/import/platform/vigil.ts'
import { openFirst } from '../../src/postgres/connection/opening.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { cluster } from '../support/cluster.ts'
import { useRoles } from '../support/roles.ts'

const newRole = useRoles()

test('a silent query goes on where the platform refuses the connection that would look after it, and ends where nobody is there', async () => {
  const { url } = await cluster()
  const role = await newRole()
  const connect = () => openFirst(readPostgresUrl(role.url(url())), 5000)
  const admin = await openFirst(readPostgresUrl(url()), 5000)
  await admin.run(`alter role ${role.name} connection limit 1`, [], { prepare: false })
  const connection = await connect()
  const refusals: unknown[] = []
  const witness = () =>
    connect().catch(error => {
      refusals.push((error as { code?: string }).code)
      throw error
    })
  const letGo = watchOver(connection, witness, 100)
  const rows = await connection.run("select 'through' as it from pg_sleep(0.5)", [], { prepare: false })
  letGo()
  expect([[...(rows as object[])], refusals[0], connection.isOver]).toEqual([
    [{ it: 'through' }],
    '53300',
    false,
  ])

  const nobody = async () => {
    throw Object.assign(new Error('nobody is there'), { code: 'ECONNREFUSED' })
  }
  const letGoToo = watchOver(connection, nobody, 100)
  await expect(connection.run('select pg_sleep(60)', [], { prepare: false })).rejects.toThrow()
  letGoToo()
  expect(connection.isOver).toBe(true)
  await admin.close()
})
