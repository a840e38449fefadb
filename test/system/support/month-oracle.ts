import type { Sql } from 'postgres'

/** A record as the export has it, with the two columns of filters that the record does not show. */
export interface Exported {
  record: { id: number; organization_id: number; results: object[] } & Record<string, unknown>
  is_archived: boolean
  legacy_record: boolean
}

/**
 * The records that the tables of the example platform mean, by the contract and without axport: written by hand for
 * these tables. It leaves out what needs a person without a name, as educator or as observer of a stage.
 * @param zone the time zone of the days
 */
export async function recordsOfPlatform(sql: Sql, zone: string): Promise<Exported[]> {
  // The column of emails is renamed within the month.
  const rows = await sql<{ record: string; isArchived: boolean; legacyRecord: boolean }[]>`
    with person as (
      select *, given || ' ' || family as name, coalesce(to_jsonb(people) ->> 'mail', to_jsonb(people) ->> 'email', '') as address
      from people
    ),
    visit as (
      select s.*, count(*) over (partition by s.observation_no) as visits, observer.name as observer
      from stages s join person observer on observer.person_no = s.observer_no
      where s.removed_at is null
    )
    select
      teacher.left_on is not null as "isArchived",
      o.from_old_system as "legacyRecord",
      json_build_object(
        'id', o.observation_no, 'seid', teacher.state_id, 'name', teacher.name, 'first_name', teacher.given,
        'last_name', teacher.family, 'email', teacher.address,
        'organization_id', o.district_no, 'organization_name', d.title, 'assessment_name', r.label,
        'certified_on', (o.finished_at at time zone ${zone})::date,
        'results', json_agg(
          json_build_object(
            'assessment_id', case when visits = 1 then o.observation_no else v.stage_no end,
            'assessment_name', case when visits = 1 then r.label else v.label end,
            'certified_on', (case when visits = 1 then o.finished_at else v.seen_at end at time zone ${zone})::date,
            'proctor_id', v.observer_no, 'proctor_name', v.observer
          ) order by v.rank)
      )::text as record
    from observations o
    join visit v using (observation_no)
    join person teacher on teacher.person_no = o.teacher_no
    join districts d using (district_no)
    join rubrics r using (rubric_no)
    where o.state = 'complete' and o.removed_at is null
    group by o.observation_no, d.title, r.label, teacher.person_no, teacher.state_id, teacher.name, teacher.given,
      teacher.family, teacher.address, teacher.left_on
    having teacher.name <> ' ' and bool_and(v.observer <> ' ')
    order by o.observation_no`
  return rows.map(({ record, isArchived, legacyRecord }) => ({
    record: JSON.parse(record),
    is_archived: isArchived,
    legacy_record: legacyRecord,
  }))
}

/** The records of an export, to be compared with those of the platform. */
export async function recordsOfExport(sql: Sql): Promise<Exported[]> {
  const rows = await sql<{ document: string; isArchived: boolean; legacyRecord: boolean }[]>`
    select document, is_archived as "isArchived", legacy_record as "legacyRecord" from export_records order by id`
  return rows.map(({ document, isArchived, legacyRecord }) => ({
    record: JSON.parse(document),
    is_archived: isArchived,
    legacy_record: legacyRecord,
  }))
}
