-- Writers of the source tables queue, and what they change is rendered in their own transaction, by triggers of whole
-- statements. So a reader never sees source and export differ, and no writer can forget to render.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Writers queue before they touch a row. Otherwise one that holds a user and waits for the queue, and one that is at its
-- head and wants that user, would deadlock. That includes writers whose rows are in no record yet, as a new user: another
-- writer may add the same id. It costs a transaction about 20 µs. Statements that lock before a trigger fires can still
-- deadlock: select … for update, lock table, truncate.
create function queue_for_export() returns trigger
language plpgsql set search_path from current as $$
begin
  perform lock_export();
  return null;
end
$$;

-- Brings the records of these assessments up to date. Rows that would not change are not written.
-- * Custom plans, because a generic one takes "= any (ids)" for ten rows, whatever the number of ids.
-- * No JIT, because compiling costs half a second where the estimates are high, and saves nothing here.
-- * An educator who is missing in the view of people was erased. Asking the view of records would double the cost of a
--   single-row update.
create function refresh_export_records(ids bigint[]) returns void
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

-- The same for the names that search looks at. The callers of these two hold the lock already.
create function refresh_export_people(ids bigint[]) returns void
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

create function refresh_export_products(ids bigint[]) returns void
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
begin
  delete from export_products e
  where e.product_id = any (ids) and not exists (select from products p where p.id = e.product_id);
  insert into export_products as e
  select v.* from export_products_rendered v where v.product_id = any (ids)
  on conflict (product_id) do update set name_key = excluded.name_key where e.name_key <> excluded.name_key;
end
$$;

-- A part never has the id of another assessment: the retrieve request answers with the assessment, and must answer 404 to
-- the id of a part (spec 4.3). Called behind the queue, so that two writers cannot each write one of the two.
create function refuse_shared_ids(ids bigint[]) returns void
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  shared bigint;
begin
  select p.id into shared
  from assessment_parts p join assessments a on a.id = p.id
  where p.id = any (ids) and p.assessment_id <> p.id
  limit 1;
  if found then
    raise unique_violation using
      message = format('id %s is both an assessment and a part of another assessment', shared),
      constraint = 'assessment_parts_id_of_no_other_assessment';
  end if;
end
$$;

-- What a statement changed in users, organizations, products or assessments reaches every record that shows it. A new row
-- of the first three is in no record yet. Nor is a deleted one, as the references see to; but they are checked at the end
-- of a statement, and one statement can delete a row and insert another one under its id.
create function source_changed() returns trigger
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  ids bigint[];
begin
  if tg_op = 'TRUNCATE' then
    delete from export_people where tg_table_name = 'users';
    delete from export_products where tg_table_name = 'products';
    delete from export_records where tg_table_name = 'assessments';
    return null;
  elsif tg_op = 'INSERT' then
    ids := array(select id from new_rows);
  elsif tg_op = 'DELETE' then
    ids := array(select id from old_rows);
  else
    ids := array(
      select id from (table new_rows except table old_rows) as come
      union
      select id from (table old_rows except table new_rows) as gone
    );
  end if;
  if ids = '{}' then
    return null;
  end if;
  if tg_table_name = 'assessments' then
    perform refuse_shared_ids(ids), refresh_export_records(ids);
  elsif tg_table_name = 'users' then
    perform refresh_export_people(ids);
  elsif tg_table_name = 'products' then
    perform refresh_export_products(ids);
  end if;
  if tg_op <> 'INSERT' and tg_table_name <> 'assessments' then
    perform refresh_export_records(array(
      select id from assessments
      where (tg_table_name = 'users' and user_id = any (ids))
        or (tg_table_name = 'organizations' and organization_id = any (ids))
        or (tg_table_name = 'products' and product_id = any (ids))
      union
      select assessment_id from assessment_parts where tg_table_name = 'users' and proctor_id = any (ids)
    ));
  end if;
  return null;
end
$$;

-- The same for assessment_parts, which may have moved from one assessment to another.
create function parts_changed() returns trigger
language plpgsql set search_path from current as $$
declare
  ids bigint[] := '{}';
begin
  if tg_op = 'TRUNCATE' then
    delete from export_records;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    ids := array(select assessment_id from old_rows);
  end if;
  if tg_op <> 'DELETE' then
    perform refuse_shared_ids(array(select id from new_rows));
    ids := ids || array(select assessment_id from new_rows);
  end if;
  perform refresh_export_records(array(select distinct unnest(ids)));
  return null;
end
$$;

-- Another time zone may move every certified_on, but not that of a day without a time: it is stored as its start, and
-- becomes its start in the other zone. An instant at the start of a day is taken for one. If the other zone does not have
-- the day (Apia has no 2011-12-30), it becomes the next one.
create function time_zone_changed() returns trigger
language plpgsql set search_path from current as $$
begin
  if not exists (select from pg_timezone_names where name = new.time_zone) then
    raise invalid_parameter_value using message = format('unknown time zone %L', new.time_zone);
  end if;
  update assessments
  set certified_at = date_trunc('day', certified_at at time zone old.time_zone) at time zone new.time_zone
  where certified_at = date_trunc('day', certified_at at time zone old.time_zone) at time zone old.time_zone;
  update assessment_parts
  set certified_at = date_trunc('day', certified_at at time zone old.time_zone) at time zone new.time_zone
  where certified_at = date_trunc('day', certified_at at time zone old.time_zone) at time zone old.time_zone;
  perform refresh_export_records(array(select id from assessments));
  return null;
end
$$;

-- Analyzes a table of this schema for a role that loads and does not own it: Postgres would skip ANALYZE with a warning.
-- There is no such function for VACUUM, which Postgres runs in no function.
create function analyze_table(name text) returns void
language plpgsql security definer set search_path from current as $$
begin
  execute format('analyze %I.%I', current_schema(), name);
end
$$;
revoke execute on function analyze_table(text) from public;

-- The triggers of the source tables are the same for each of them. They have transition tables, so they are called once for
-- a statement and not for each row. Postgres allows one event for such a trigger, hence one each for insert, update and
-- delete; a function sees only the tables of its event.
do $$
declare
  source record;
begin
  for source in
    select name, case name when 'assessment_parts' then 'parts_changed' else 'source_changed' end as function
    from unnest(array['organizations', 'products', 'users', 'assessments', 'assessment_parts']) as name
  loop
    execute format(
      'create trigger %1$s_queue before insert or update or delete or truncate on %1$s
         for each statement execute function queue_for_export();
       create trigger %1$s_inserted after insert on %1$s
         referencing new table as new_rows for each statement execute function %2$s();
       create trigger %1$s_updated after update on %1$s
         referencing old table as old_rows new table as new_rows for each statement execute function %2$s();
       create trigger %1$s_deleted after delete on %1$s
         referencing old table as old_rows for each statement execute function %2$s();
       create trigger %1$s_truncated after truncate on %1$s
         for each statement execute function %2$s()',
      source.name, source.function
    );
  end loop;
end
$$;

create trigger export_state_time_zone_changed after update of time_zone on export_state
  for each row when (old.time_zone is distinct from new.time_zone) execute function time_zone_changed();
