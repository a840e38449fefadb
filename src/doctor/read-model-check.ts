import type { Sql } from 'postgres'
import { type Finding, ok, skipped, wrong } from './finding.ts'
import { unreadable } from './reading.ts'

/** Assessments that are compared where not all of them are. */
const SAMPLE = 1000

/**
 * Whether the read model equals what the source tables render to. `full` compares every record, otherwise
 * a random sample of assessments and of records, which is all of them where there are not more.
 */
export async function checkReadModel(db: Sql, full: boolean): Promise<Finding> {
  if ((await unreadable(db, 'assessments', 'export_records', 'export_records_rendered')).length > 0)
    return skipped('read model', 'this role can not read the source tables: run doctor as their owner')
  const [found] = full ? await compareAll(db) : await compareSample(db)
  const { compared, different, example } = found ?? { compared: 0, different: 0, example: null }
  const what = full ? `all ${compared} records` : `${compared} records sampled`
  const differ = different === 1 ? 'differs from its source' : 'differ from their source'
  return different === 0
    ? ok('read model', `${what}, equal to their source`)
    : wrong('read model', `${different} of ${what} ${differ}, as assessment ${example}: ${REPAIR}`)
}

/** Of both: a record whose assessment is gone is only found among the records. */
const REPAIR =
  'select refresh_export_records(array(select id from assessments union select id from export_records)); ' +
  'and tell the maintainers'

interface Comparison {
  compared: number
  different: number
  example: string | null
}

async function compareAll(db: Sql): Promise<Comparison[]> {
  return await db<Comparison[]>`
    select
      count(*)::integer as compared,
      (count(*) filter (where r is distinct from v))::integer as different,
      (min(coalesce(r.id, v.id)) filter (where r is distinct from v))::text as example
    from export_records r full join export_records_rendered v on v.id = r.id`
}

async function compareSample(db: Sql): Promise<Comparison[]> {
  return await db<Comparison[]>`
    with sampled as materialized (
      select id from (select id from assessments union select id from export_records) as known
      order by random() limit ${SAMPLE}
    )
    select
      count(*)::integer as compared,
      (count(*) filter (where r is distinct from v))::integer as different,
      (min(s.id) filter (where r is distinct from v))::text as example
    from sampled s
    left join export_records r on r.id = s.id
    left join lateral (select * from export_records_rendered v where v.id = s.id) v on true`
}
