import { setDefaultTimeout, test } from 'bun:test'
import { requires } from '../support/requires.ts'
import { POSTGRES_15, usePostgres15 } from './support/debian-postgres.ts'
import { expectTestsToPass } from './support/on-version.ts'

setDefaultTimeout(600_000)

requires(POSTGRES_15).describe('on Postgres 15', () => {
  const server = usePostgres15()

  test('the tests of the contract, of paging, of imports and of the schema hold', () =>
    expectTestsToPass(server.cluster.url(), 15))
})
