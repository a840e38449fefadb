-- The example's data as NDJSON: psql service=platform -XqAt -v ON_ERROR_STOP=1 -f ndjson.sql | axport import --sync -
-- Not by \copy in text format, which doubles each backslash. Here an observation of one stage has one part; the queries
-- give it a proctor and no parts. The last line proves that nothing is missing.
with lines as (
  select json_build_object('type', 'organization', 'id', district_no, 'name', title) as line from districts
  union all
  select json_build_object('type', 'product', 'id', rubric_no, 'name', label) from rubrics
  union all
  select json_build_object('type', 'user', 'id', person_no, 'name', given || ' ' || family,
    'first_name', given, 'last_name', family, 'email', mail, 'seid', state_id,
    'record_status', case when left_on is null then 'active' else 'archived' end) from people
  union all
  select json_build_object('type', 'assessment', 'id', observation_no, 'user_id', teacher_no,
    'organization_id', district_no, 'product_id', rubric_no, 'certified_at', finished_at,
    'legacy_record', from_old_system, 'parts', (
      select json_agg(json_build_object('id', stage_no, 'name', label, 'certified_at', seen_at,
        'proctor_id', observer_no) order by rank)
      from stages s where s.observation_no = o.observation_no and s.removed_at is null))
  from observations o where state = 'complete' and removed_at is null
)
select line from (
  select 1 as rank, line from lines
  union all
  select 2, json_build_object('type', 'end', 'lines', count(*)) from lines
) as all_lines order by rank;
