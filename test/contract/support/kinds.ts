import { cleanUp } from '../../support/executable.ts'
import { serveWith } from '../../support/served.ts'
import { openTestDatabase, startService, type TestService } from '../../support/service.ts'
import { isChosen, thorough } from '../../support/tier.ts'

/**
 * The kinds of service that the contract is tested on: a service in the process of the test, on Postgres or on the
 * embedded database; and the executable, as operators run it, with two workers on Postgres.
 */
export type Kind = 'postgres' | 'embedded' | 'serve --workers 2'

/** What the rules of a file depend on. */
export type DependsOn =
  /** A whole endpoint: one file each for tokens, lists and records. */
  | 'endpoint'
  /** Which rows a statement finds, in which order, with which texts. */
  | 'data'
  /** How a request is read and an answer written, which is the same on every database. */
  | 'protocol'

/**
 * The kinds that the tests of a file run on, in this tier. CHECK=all runs every file on the executable, and a quarter of
 * those about data, chosen by the seed and the subject, on the embedded database.
 */
export function kindsOf(dependsOn: DependsOn, subject: string): Kind[] {
  if (dependsOn === 'endpoint') return ['postgres', 'embedded', 'serve --workers 2']
  if (!thorough) return ['postgres']
  const embedded: Kind[] = dependsOn === 'data' && isChosen(subject) ? ['embedded'] : []
  return ['postgres', ...embedded, 'serve --workers 2']
}

/** Starts a service of this kind with an empty database. */
export async function startKind(kind: Kind): Promise<TestService> {
  if (kind !== 'serve --workers 2') return await startService(kind)
  const database = await openTestDatabase('postgres')
  const served = await serveWith([], { DATABASE_URL: database.url })
  const close = async () => {
    await served.end()
    await cleanUp()
    await database.close()
  }
  return { ...database, baseUrl: served.url, logged: served.stdout, close }
}
