import { expect, test } from 'bun:test'
import { startSilenceCheck } from '../../src/import/platform/silence-check.ts'
import { openFirst } from '../../src/postgres/connection/opening.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { cluster } from '../support/cluster.ts'
import { useRoles } from '../support/roles.ts'

const newRole = useRoles()

test('a silent query goes on if the platform refuses the probe, and ends if no server answers', async () => {
  const { url } = await cluster()
  const role = await newRole()
  const connect = () => openFirst(readPostgresUrl(role.url(url())), 5000)
  const admin = await openFirst(readPostgresUrl(url()), 5000)
  await admin.run(`alter role ${role.name} connection limit 1`, [], { prepare: false })
  const connection = await connect()
  const refusals: unknown[] = []
  const probe = () =>
    connect().catch(error => {
      refusals.push((error as { code?: string }).code)
      throw error
    })
  const endChecks = startSilenceCheck(connection, probe, 100)
  const rows = await connection.run("select 'through' as it from pg_sleep(0.5)", [], { prepare: false })
  endChecks()
  expect([[...(rows as object[])], refusals[0], connection.isClosed]).toEqual([
    [{ it: 'through' }],
    '53300',
    false,
  ])

  const nobody = async () => {
    throw Object.assign(new Error('nobody is there'), { code: 'ECONNREFUSED' })
  }
  const endChecksToo = startSilenceCheck(connection, nobody, 100)
  await expect(connection.run('select pg_sleep(60)', [], { prepare: false })).rejects.toThrow()
  endChecksToo()
  expect(connection.isClosed).toBe(true)
  await admin.close()
})
