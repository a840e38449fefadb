-- Rendering: the proctor of each part is looked up by id, whatever the planner expects.
-- Only writers read the view. Services of older schemas can serve and provision.
-- compatible-with: 5

-- In the transaction of a first load assessment_parts have no statistics, and an assessment is expected to have one part
-- in 200 of all. So each assessment got a hash join, which read all people: 4,000,000 rows for 2,000 assessments of as
-- many people. A role that does not own the tables cannot make statistics.
-- With the limit, nothing but a look-up for each part is left to choose. Otherwise the view is that of 0002.
create or replace view export_records_rendered as
select
  a.id,
  a.organization_id,
  a.product_id,
  a.user_id,
  u.seid,
  u.record_status = 'archived' as is_archived,
  a.legacy_record,
  parts.proctor_ids,
  day.certified_on,
  lower(u.name collate "und-x-icu") collate "C" as user_name_key,
  lower(parts.first_proctor_name collate "und-x-icu") collate "C" as proctor_name_key,
  lower(p.name collate "und-x-icu") collate "C" as product_name_key,
  (
    select row_to_json(record)::text
    from (
      select
        a.id as id,
        u.seid as seid,
        u.name as name,
        u.first_name as first_name,
        u.last_name as last_name,
        u.email as email,
        a.organization_id as organization_id,
        o.name as organization_name,
        p.name as assessment_name,
        day.certified_on as certified_on,
        parts.results as results
    ) as record
  ) as document
from export_state s
cross join assessments a
join users u on u.id = a.user_id
join organizations o on o.id = a.organization_id
join products p on p.id = a.product_id
cross join lateral (
  select least(greatest((a.certified_at at time zone s.time_zone)::date, '0001-01-01'), '9999-12-31') as certified_on
) as day
cross join lateral (
  select
    array_agg(proctor_id) as proctor_ids,
    (array_agg(proctor_name))[1] as first_proctor_name,
    ('[' || string_agg(row_to_json(result)::text, ',') || ']')::json as results
  from (
    select part.proctor_id, proctor.name as proctor_name, result
    from assessment_parts part
    cross join lateral (select name from users where id = part.proctor_id limit 1) as proctor
    cross join lateral (
      select
        part.id as assessment_id,
        coalesce(part.name, p.name) as assessment_name,
        least(
          greatest((coalesce(part.certified_at, a.certified_at) at time zone s.time_zone)::date, '0001-01-01'),
          '9999-12-31'
        ) as certified_on,
        part.proctor_id as proctor_id,
        proctor.name as proctor_name
    ) as result
    where part.assessment_id = a.id
    order by part.position
  ) as ordered
  having count(*) > 0
) as parts;
