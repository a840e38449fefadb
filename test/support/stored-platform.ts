import type { Sql } from 'postgres'
import { setTimeZone } from '../../src/database/time-zone.ts'
import { Oracle, type Scope } from './oracle.ts'
import type { Assessment, Part, Platform } from './oracle-records.ts'
import { scopesOf } from './platform.ts'
import { authorize, type TestService } from './service.ts'

/** Replaces the contents of the source tables by a platform's data. */
export async function store(db: Sql, platform: Platform): Promise<void> {
  const { zone, organizations, products, users, assessments } = platform
  const parts = assessments.flatMap(({ id, parts }) =>
    parts.map((part, position) => ({ ...part, assessment_id: id, position })),
  )
  // Before the instants are stored: another time zone takes those at a midnight for days.
  await setTimeZone(db, zone)
  await db.begin(async sql => {
    await sql`truncate organizations, products, users, assessments, assessment_parts`
    for (const [table, rows] of Object.entries({ organizations, products, users }))
      await sql`
        insert into ${sql(table)}
        select * from json_populate_recordset(null::${sql(table)}, ${JSON.stringify(rows)}::text::json)`
    await sql`
      insert into assessments
      select id, user_id, organization_id, product_id, ${sql.unsafe(INSTANT)}, legacy_record
      from json_to_recordset(${JSON.stringify(assessments)}::text::json) as row
        (id bigint, user_id bigint, organization_id bigint, product_id bigint, micros bigint, legacy_record boolean)`
    await sql`
      insert into assessment_parts
      select id, assessment_id, position, name, ${sql.unsafe(INSTANT)}, proctor_id
      from json_to_recordset(${JSON.stringify(parts)}::text::json) as row
        (id bigint, assessment_id bigint, position integer, name text, micros bigint, proctor_id bigint)`
  })
}

const INSTANT = `timestamptz 'epoch' + micros * interval '1 microsecond'`
const MICROS = '(extract(epoch from certified_at) * 1000000)::bigint as micros'

/** Reads the source tables in one snapshot, without the service's views, functions and read model. */
export async function readPlatform(sql: Sql): Promise<Platform> {
  const [row] = await sql.unsafe<{ platform: string }[]>(`
    with a as (select id, user_id, organization_id, product_id, ${MICROS}, legacy_record from assessments),
      p as (
        select id, assessment_id, name, ${MICROS}, proctor_id
        from assessment_parts order by assessment_id, position
      )
    select json_build_object(
      'zone', (select time_zone from export_state),
      'organizations', (select coalesce(json_agg(o), '[]') from organizations o),
      'products', (select coalesce(json_agg(o), '[]') from products o),
      'users', (select coalesce(json_agg(u), '[]') from users u),
      'assessments', (select coalesce(json_agg(a), '[]') from a),
      'parts', (select coalesce(json_agg(p), '[]') from p)
    )::text as platform`)
  if (!row) throw new Error('json_build_object returned no row')
  const { parts, ...platform } = JSON.parse(row.platform) as Omit<Platform, 'assessments'> & {
    assessments: Omit<Assessment, 'parts'>[]
    parts: (Part & { assessment_id: number })[]
  }
  const partsOf = Map.groupBy(parts, part => part.assessment_id)
  const assessments = platform.assessments.map(row => ({ ...row, parts: partsOf.get(row.id) ?? [] }))
  return { ...platform, assessments }
}

/** An oracle about the current contents of the source tables. */
export async function readOracle(sql: Sql): Promise<Oracle> {
  return new Oracle(await readPlatform(sql))
}

/** Stores a platform in a service, provisions an integration for each scope of scopesOf(), and returns their tokens. */
export async function provisionScopes(
  service: TestService,
  platform: Platform,
): Promise<{ scope: Scope; token: string }[]> {
  await store(service.sql, platform)
  return await Promise.all(
    scopesOf(platform).map(async scope => ({
      scope,
      token: (await authorize(service, scope.organizations, scope.products)).token,
    })),
  )
}
