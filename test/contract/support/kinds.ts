import type { Tier } from '../../../scripts/tests.ts'
import { cleanUp } from '../../support/executable.ts'
import { serveWith } from '../../support/served.ts'
import { openTestDatabase, startService, type TestService } from '../../support/service.ts'
import { tier } from '../../support/tier.ts'

/**
 * The kinds of service that the contract is tested on: a service in the process of the test, on Postgres or on the
 * embedded database; and the executable, as operators run it, with two workers on Postgres.
 */
export type Kind = 'postgres' | 'embedded' | 'serve --workers 2'

const ALL: Kind[] = ['postgres', 'embedded', 'serve --workers 2']

/** The kinds by what the rules of a file depend on, for each tier. Every file runs on the executable in CHECK=all. */
const KINDS = {
  /** A whole endpoint: one file each for tokens, lists and records. */
  endpoint: { fast: ALL, all: ALL },
  /** Which rows a statement finds, in which order, with which texts. */
  data: { fast: ['postgres', 'embedded'], all: ALL },
  /** How a request is read and an answer written, which is the same on every database. */
  protocol: { fast: ['postgres'], all: ['postgres', 'serve --workers 2'] },
} satisfies Record<string, Record<Tier, Kind[]>>

export type DependsOn = keyof typeof KINDS

/** The kinds that the tests of a file run on, in this tier. */
export const kindsOf = (dependsOn: DependsOn): Kind[] => KINDS[dependsOn][tier]

/** Starts a service of this kind with an empty database. */
export async function startKind(kind: Kind): Promise<TestService> {
  if (kind !== 'serve --workers 2') return await startService(kind)
  const database = await openTestDatabase('postgres')
  const served = await serveWith(['--workers', '2'], { DATABASE_URL: database.url })
  const close = async () => {
    await served.end()
    await cleanUp()
    await database.close()
  }
  return { ...database, baseUrl: served.url, logged: served.stdout, close }
}
