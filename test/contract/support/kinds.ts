import { cleanUp } from '../../support/executable.ts'
import { serveWith } from '../../support/served.ts'
import { openTestDatabase, startService, type TestService } from '../../support/service.ts'
import { thorough } from '../../support/tier.ts'

/**
 * The kinds of service that the contract is tested on: a service in the process of the test, and the executable, as
 * operators run it.
 */
export type Kind = 'in process' | 'serve'

/** The kinds that the tests of a file run on, in this tier. In `check`, one file of each endpoint runs on both. */
export const kindsOf = (coversEndpoint = false): Kind[] =>
  thorough || coversEndpoint ? ['in process', 'serve'] : ['in process']

/** Starts a service of this kind with an empty database. */
export async function startKind(kind: Kind): Promise<TestService> {
  if (kind === 'in process') return await startService()
  const database = await openTestDatabase()
  const served = await serveWith([], { DATABASE_URL: database.url })
  const close = async () => {
    await served.end()
    await cleanUp()
    await database.close()
  }
  return { ...database, baseUrl: served.url, logged: served.stdout, close }
}
