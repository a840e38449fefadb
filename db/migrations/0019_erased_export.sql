-- An erased person is not exported, whatever has written the source tables.
-- Services of older schemas can serve and provision, and writers of any schema render by these views.
-- compatible-with: 5

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The triggers of 0009 refuse rows of erased people. The apply worker of a subscription and a session in replica fire
-- none, and what they had written was rendered as soon as anything else of the record changed. Row triggers that fire
-- always would have to fail there, which stops a subscription, or to drop rows, after which it is no copy any more. So
-- these rows stay, axport doctor finds them, and the views do not show them: the records of an erased educator are left
-- out, and an erased proctor has the name that erased_person() gives.
-- Writers read the tombstones with the rights of the owner of the views. A select of one value and not an anti-join, which
-- takes longer to plan than a single-row update takes otherwise.
create or replace view export_people_rendered as
select
  id as user_id,
  search_folded(
    translate(first_name, E'\n', ' ') || E'\n' || translate(last_name, E'\n', ' ') || E'\n'
  ) collate "C" as names_key
from users u
where (select e.user_id from erasures e where e.user_id = u.id) is null;

-- Otherwise that of 0012.
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
    cross join lateral (
      select coalesce((select (erased_person(e.user_id)).name from erasures e where e.user_id = u.id), u.name) as name
      from users u where u.id = part.proctor_id limit 1
    ) as proctor
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
) as parts
where (select e.user_id from erasures e where e.user_id = a.user_id) is null;

-- As in 0004, and deletes what the views no longer show of erased people. An educator who is not in the view of people was
-- erased. Asking the view of records would double the cost of a single-row update.
create or replace function refresh_export_records(ids bigint[]) returns void
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
begin
  if coalesce(cardinality(ids), 0) = 0 then
    return;
  end if;
  perform lock_export();

  delete from export_records r
  where r.id = any (ids)
    and not exists (
      select from assessments a join assessment_parts p on p.assessment_id = a.id
      where a.id = r.id
        and (select v.user_id from export_people_rendered v where v.user_id = a.user_id) is not null
    );

  insert into export_records as r
  select v.* from export_records_rendered v where v.id = any (ids)
  on conflict (id) do update set
    (organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids, certified_on,
     user_name_key, proctor_name_key, product_name_key, document) =
    (excluded.organization_id, excluded.product_id, excluded.user_id, excluded.seid,
     excluded.is_archived, excluded.legacy_record, excluded.proctor_ids, excluded.certified_on,
     excluded.user_name_key, excluded.proctor_name_key, excluded.product_name_key, excluded.document)
  where (r.*) is distinct from (excluded.*);
end
$$;

create or replace function refresh_export_people(ids bigint[]) returns void
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
begin
  delete from export_people p
  where p.user_id = any (ids)
    and not exists (select from export_people_rendered v where v.user_id = p.user_id);
  insert into export_people as p
  select v.* from export_people_rendered v where v.user_id = any (ids)
  on conflict (user_id) do update set names_key = excluded.names_key where p.names_key <> excluded.names_key;
end
$$;

-- What has been rendered of people who were erased before.
select
  refresh_export_people(array(select user_id from erasures)),
  refresh_export_records(array(
    select id from assessments where user_id in (select user_id from erasures)
    union
    select assessment_id from assessment_parts where proctor_id in (select user_id from erasures)
  ));
