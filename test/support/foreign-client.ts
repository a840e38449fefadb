import postgres, { type Sql } from 'postgres'
import { openEmbedded } from '../../src/postgres/embedded/embedded.ts'

/** A connection of another program, such as psql, to the embedded database at `url`: embedded:DIR. */
export async function connectForeign(url: string): Promise<Sql> {
  const { socketPath } = await openEmbedded(url.slice('embedded:'.length))
  return postgres({
    path: socketPath,
    user: 'postgres',
    database: 'postgres',
    max: 1,
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => {},
  })
}
