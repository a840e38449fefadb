-- Writers of the source tables: they queue, and what they change is rendered, by statement-level triggers and in
-- their own transaction. So a reader never sees source and read model differ, and no writer can forget.

-- The functions keep this path; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Writers of the source tables queue here until the one before has committed. Without it, two writers
-- that touch the same record through different tables (one renames its user, the other its organization)
-- would each render it from a snapshot that misses the other's change, and the later would win. Behind
-- the lock each statement of the refresh takes a new snapshot (READ COMMITTED), which sees all that was
-- committed. It is an update and not a mere lock, so that under REPEATABLE READ, where the snapshot stays
-- that of the beginning, a writer fails with a serialization error whenever another one has committed since,
-- even if that one changed no record. Once a transaction: each further version of the row would have to be
-- skipped by the next call. Readers never wait.
create function lock_export() returns void
language plpgsql set search_path from current as $$
begin
  update export_state set singleton = singleton where xmin <> pg_current_xact_id()::xid;
end
$$;

-- Writers queue before they touch a row. One that held a user and waited for the queue, and one that stood at its
-- head and wanted that user, would be a deadlock. Behind the queue from the first statement on, a writer holds
-- nothing that the head of the queue could want. That includes writers whose rows are in no record yet, as a
-- new user: another one may be adding the same id.
--
-- One call a statement, and the deletes of a cascade make one call for all of them. It costs a transaction about
-- 20 µs. Who has queued already is not asked of the row, as lock_export() does: there each savepoint counts as a
-- writer of its own, and ten thousand of them leave ten thousand versions to skip (4.8 s for the users of one
-- transaction, against 0.2). The local setting lives exactly as long as the lock: to the end of the transaction,
-- or until the savepoint behind which it was taken is rolled back to.
--
-- What can still deadlock is what locks before any trigger runs: explicit locks (select … for update, lock
-- table), and TRUNCATE, which locks its whole table.
create function queue_for_export() returns trigger
language plpgsql set search_path from current as $$
begin
  if current_setting('axport.queued', true) is distinct from pg_current_xact_id()::text then
    perform lock_export();
    perform set_config('axport.queued', pg_current_xact_id()::text, true);
  end if;
  return null;
end
$$;

create trigger organizations_queue before insert or update or delete or truncate on organizations
  for each statement execute function queue_for_export();
create trigger products_queue before insert or update or delete or truncate on products
  for each statement execute function queue_for_export();
create trigger users_queue before insert or update or delete or truncate on users
  for each statement execute function queue_for_export();
create trigger assessments_queue before insert or update or delete or truncate on assessments
  for each statement execute function queue_for_export();
create trigger assessment_parts_queue before insert or update or delete or truncate on assessment_parts
  for each statement execute function queue_for_export();

-- Brings the records of these assessments up to date. Rows that would not change are not written.
-- Custom plans, because a generic one takes "= any(ids)" for ten rows, whatever the length of ids. No JIT,
-- because compiling costs half a second a call wherever the estimates are high, and saves nothing here.
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
      select from assessments a join assessment_parts p on p.assessment_id = a.id where a.id = r.id
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

-- The same for what search looks at; whoever calls these is behind the queue.
create function refresh_export_people(ids bigint[]) returns void
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
begin
  delete from export_people p
  where p.user_id = any (ids) and not exists (select from users u where u.id = p.user_id);
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

-- The triggers have transition tables: one call a statement, not one a row. Postgres allows such a trigger one
-- event only, hence one for each of insert, update and delete; inside the functions only the tables of the event
-- at hand exist. Whatever they ask, they ask behind the queue: a record that another writer was just adding would
-- be missed otherwise.

create function assessments_changed() returns trigger
language plpgsql set search_path from current as $$
declare
  ids bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(id) into ids from new_rows;
  elsif tg_op = 'DELETE' then
    select array_agg(id) into ids from old_rows;
  else
    select array_agg(id) into ids from (select id from new_rows union select id from old_rows) as changed;
  end if;
  if tg_op <> 'DELETE' then
    perform refuse_shared_ids(ids);
  end if;
  perform refresh_export_records(ids);
  return null;
end
$$;

create function assessment_parts_changed() returns trigger
language plpgsql set search_path from current as $$
declare
  ids bigint[];
  part_ids bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(distinct assessment_id), array_agg(id) into ids, part_ids from new_rows;
  elsif tg_op = 'DELETE' then
    select array_agg(distinct assessment_id) into ids from old_rows;
  else
    select array_agg(distinct assessment_id), array_agg(distinct id) into ids, part_ids
    from (select assessment_id, id from new_rows union select assessment_id, id from old_rows) as changed;
  end if;
  perform refuse_shared_ids(part_ids);
  perform refresh_export_records(ids);
  return null;
end
$$;

-- A part's id is never the id of another assessment: the retrieve endpoint takes the one and must answer
-- 404 to the other (spec 4.3). Called behind the queue, so that two writers cannot make one each.
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

-- Of users, organizations and products: a rename reaches every record that shows the name. A new row is in no
-- record yet. Nor is a deleted one, or a reference would refuse it; but references are checked at the end of a
-- statement, and one statement can delete a row and put another one under its id.
create function shown_row_changed() returns trigger
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  ids bigint[];
begin
  if tg_op = 'INSERT' then
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
  if tg_table_name = 'users' then
    perform refresh_export_people(ids);
  elsif tg_table_name = 'products' then
    perform refresh_export_products(ids);
  end if;
  if tg_op <> 'INSERT' then
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

-- Without assessments or without parts there is nothing to export; either TRUNCATE empties the read model.
create function assessments_truncated() returns trigger
language plpgsql set search_path from current as $$
begin
  delete from export_records;
  return null;
end
$$;

create function names_truncated() returns trigger
language plpgsql set search_path from current as $$
begin
  if tg_table_name = 'users' then
    delete from export_people;
  else
    delete from export_products;
  end if;
  return null;
end
$$;

-- Another time zone may move every certified_on.
create function time_zone_changed() returns trigger
language plpgsql set search_path from current as $$
begin
  if not exists (select from pg_timezone_names where name = new.time_zone) then
    raise invalid_parameter_value using message = format('unknown time zone %L', new.time_zone);
  end if;
  perform refresh_export_records(array(select id from assessments));
  return null;
end
$$;

create trigger assessments_inserted after insert on assessments
  referencing new table as new_rows for each statement execute function assessments_changed();
create trigger assessments_updated after update on assessments
  referencing old table as old_rows new table as new_rows for each statement execute function assessments_changed();
create trigger assessments_deleted after delete on assessments
  referencing old table as old_rows for each statement execute function assessments_changed();
create trigger assessments_truncated after truncate on assessments
  for each statement execute function assessments_truncated();

create trigger assessment_parts_inserted after insert on assessment_parts
  referencing new table as new_rows for each statement execute function assessment_parts_changed();
create trigger assessment_parts_updated after update on assessment_parts
  referencing old table as old_rows new table as new_rows for each statement execute function assessment_parts_changed();
create trigger assessment_parts_deleted after delete on assessment_parts
  referencing old table as old_rows for each statement execute function assessment_parts_changed();
create trigger assessment_parts_truncated after truncate on assessment_parts
  for each statement execute function assessments_truncated();

create trigger users_inserted after insert on users
  referencing new table as new_rows for each statement execute function shown_row_changed();
create trigger users_updated after update on users
  referencing old table as old_rows new table as new_rows for each statement execute function shown_row_changed();
create trigger users_deleted after delete on users
  referencing old table as old_rows for each statement execute function shown_row_changed();
create trigger users_truncated after truncate on users
  for each statement execute function names_truncated();
create trigger organizations_updated after update on organizations
  referencing old table as old_rows new table as new_rows for each statement execute function shown_row_changed();
create trigger organizations_deleted after delete on organizations
  referencing old table as old_rows for each statement execute function shown_row_changed();
create trigger products_inserted after insert on products
  referencing new table as new_rows for each statement execute function shown_row_changed();
create trigger products_updated after update on products
  referencing old table as old_rows new table as new_rows for each statement execute function shown_row_changed();
create trigger products_deleted after delete on products
  referencing old table as old_rows for each statement execute function shown_row_changed();
create trigger products_truncated after truncate on products
  for each statement execute function names_truncated();

create trigger export_state_time_zone_changed after update of time_zone on export_state
  for each row when (old.time_zone is distinct from new.time_zone) execute function time_zone_changed();
