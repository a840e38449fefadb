import type { Sql } from 'postgres'
import { FIRST_PAGE, walkPaths } from '../paths.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import type { Figures, Measure } from '../turns.ts'

/**
 * The cost of recording disclosures before answers are sent: first pages by all connections; an export by one client,
 * which waits for a commit for every page; and the bytes of what is recorded.
 */
export const disclosures: Measure = {
  name: 'disclosures',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    const walk = { paths: walkPaths((await sizeOf(side.sql, scope)).count), connections: 1 }
    const client = await side.serve(scope)
    await client.warmUp({ paths: [FIRST_PAGE] })
    return async () => {
      const figures: Figures = {}
      for (const state of ['on', 'off']) {
        await side.axport(['migrate', '--disclosures', state])
        figures[`first pages a second, disclosures ${state}`] = await client.rate({ paths: [FIRST_PAGE] })
        if (state === 'on') await side.sql`truncate disclosures`
        figures[`full export by one client, disclosures ${state}, s`] = (await client.load(walk)).seconds
      }
      return { ...figures, 'bytes in the database for each disclosed record': await bytesOf(side.sql) }
    }
  },
}

async function bytesOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ bytes: number | null }[]>`
    select pg_total_relation_size('disclosures')::float8
      / sum(cardinality(assessment_ids) + coalesce(cardinality(large_assessment_ids), 0))::float8 as bytes
    from disclosures`
  if (!row?.bytes) throw new Error('no disclosure was recorded')
  return row.bytes
}
