-- The read model: one row an assessment, ready to send. A request reads nothing else.
--
-- Five joins and a second query for the parts cost about twelve times as much a page as reading finished
-- documents (900 against 10,700 pages a second by pgbench on 1,000,000 assessments), and an export is
-- read far more often than its data changes. So the join is done once, at writing.
--
-- Three objects keep it true, all of them here, so that no writer can forget: a view that renders a
-- record, a function that refreshes the records of some ids, and statement-level triggers on the source
-- tables that call it. Everything is in the writer's transaction: a reader never sees them differ.

create extension if not exists pg_trgm with schema public;

-- The functions below keep this path. Temporary tables come last in it: left out, they would come first, and a
-- temporary table that has the name of a source table would be read in its place.
select set_config('search_path', current_setting('search_path') || ', pg_temp', true);

-- One row for the whole database.
--   version    advances with every change of the read model, in the same transaction. Whatever is
--              remembered between requests is valid for one version.
--   time_zone  the platform's; it decides on which calendar day an instant falls (spec 4.2, rule 3). A
--              property of the data and not of a process: two servers can not disagree about it.
-- The row is also the lock behind which writers queue, see lock_export().
create table export_state (
  singleton boolean primary key default true
    constraint export_state_one_row check (singleton),
  version bigint not null default 1,
  time_zone text not null default 'UTC'
);
insert into export_state default values;
-- Never analyzed, a table is taken for a thousand rows, and every plan that joins it for a thousand times dearer.
analyze export_state;

-- Every filter and sort key of the list request is a plain column.
--   *_key        lower-cased by the Unicode root rules and then compared by code point: the same order on
--                every server, whatever its locale. lower() alone follows the database's locale, and in a
--                C database leaves "É" as it is.
--   certified_on a date, so that the date filters are plain comparisons: whole days and days of 23 or 25
--                hours need no further thought.
--   search_text  first name, last name and product name, search_folded(), a line each. No needle can hold a
--                line break, so one LIKE finds a needle in any of the three but never across two, and
--                '%first%\n%last%\n%' is "first name followed by last name" (spec 4.2).
--   proctor_ids  of all parts, in their order; proctor_name_key is the first part's.
--   document     the record as it is sent, keys in the order of spec 2.1, compact.
create table export_records (
  id bigint primary key,
  organization_id bigint not null,
  product_id bigint not null,
  user_id bigint not null,
  seid text,
  record_status text not null,
  legacy_record boolean not null,
  proctor_ids bigint[] not null,
  certified_on date not null,
  user_name_key text collate "C" not null,
  proctor_name_key text collate "C" not null,
  product_name_key text collate "C" not null,
  search_text text collate "C" not null,
  document text not null
);

-- A page is chosen from an index alone and only then are its documents read: the sort key and the id give
-- the order, the included columns answer the scope without a look at the table. The first four serve a
-- broad scope, the other four a scope of few organizations, where walking everybody's records in order
-- would skip most of them.
create index export_records_certified_on
  on export_records (certified_on, id) include (organization_id, product_id);
create index export_records_user_name
  on export_records (user_name_key, id) include (organization_id, product_id);
create index export_records_proctor_name
  on export_records (proctor_name_key, id) include (organization_id, product_id);
create index export_records_product_name
  on export_records (product_name_key, id) include (organization_id, product_id);
create index export_records_organization_certified_on
  on export_records (organization_id, certified_on, id) include (product_id);
create index export_records_organization_user_name
  on export_records (organization_id, user_name_key, id) include (product_id);
create index export_records_organization_proctor_name
  on export_records (organization_id, proctor_name_key, id) include (product_id);
create index export_records_organization_product_name
  on export_records (organization_id, product_name_key, id) include (product_id);

-- For the filters that pick few records out of all.
create index export_records_user_id on export_records (user_id);
create index export_records_seid on export_records (seid) where seid is not null;
create index export_records_proctor_ids on export_records using gin (proctor_ids);
create index export_records_search on export_records using gin (search_text gin_trgm_ops);

-- How search folds case, for the text and for the needle. As the sort keys, and the Greek final sigma beside
-- the other one: a needle that ends in it may stand in the middle of a name.
create function search_folded(text) returns text
language sql immutable strict parallel safe
return translate(lower($1 collate "und-x-icu"), 'ς', 'σ') collate "C";

-- Renders every assessment that has a part (spec 2.1: results is always populated). The columns are those
-- of export_records, in their order.
-- row_to_json and not json_build_object, which puts a space around every colon: 15 % more bytes a page.
-- The parts are put in order once, which their index does, and not by each aggregate: that sorted every
-- assessment's parts three times and took a quarter of the rendering.
create view export_records_rendered as
select
  a.id,
  a.organization_id,
  a.product_id,
  a.user_id,
  u.seid,
  u.record_status,
  a.legacy_record,
  parts.proctor_ids,
  day.certified_on,
  lower(u.name collate "und-x-icu") collate "C" as user_name_key,
  lower(parts.first_proctor_name collate "und-x-icu") collate "C" as proctor_name_key,
  lower(p.name collate "und-x-icu") collate "C" as product_name_key,
  search_folded(
    translate(u.first_name, E'\n', ' ') || E'\n' ||
    translate(u.last_name, E'\n', ' ') || E'\n' ||
    translate(p.name, E'\n', ' ')
  ) collate "C" as search_text,
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
cross join lateral (select (a.certified_at at time zone s.time_zone)::date as certified_on) as day
cross join lateral (
  select
    array_agg(proctor_id) as proctor_ids,
    (array_agg(proctor_name))[1] as first_proctor_name,
    ('[' || string_agg(row_to_json(result)::text, ',') || ']')::json as results
  from (
    select part.proctor_id, proctor.name as proctor_name, result
    from assessment_parts part
    join users proctor on proctor.id = part.proctor_id
    cross join lateral (
      select
        part.id as assessment_id,
        coalesce(part.name, p.name) as assessment_name,
        (coalesce(part.certified_at, a.certified_at) at time zone s.time_zone)::date as certified_on,
        part.proctor_id as proctor_id,
        proctor.name as proctor_name
    ) as result
    where part.assessment_id = a.id
    order by part.position
  ) as ordered
  having count(*) > 0
) as parts;

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
  update export_state set version = version where xmin <> pg_current_xact_id()::xid;
end
$$;

-- Brings the records of these assessments up to date, and advances the version if any changed. Rows that
-- would not change are not written.
-- Custom plans, because a generic one takes "= any(ids)" for ten rows, whatever the length of ids. No JIT,
-- because compiling costs half a second a call wherever the estimates are high, and saves nothing here.
create function refresh_export_records(ids bigint[]) returns void
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  deleted bigint;
  written bigint;
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
  get diagnostics deleted = row_count;

  insert into export_records as r
  select v.* from export_records_rendered v where v.id = any (ids)
  on conflict (id) do update set
    (organization_id, product_id, user_id, seid, record_status, legacy_record, proctor_ids, certified_on,
     user_name_key, proctor_name_key, product_name_key, search_text, document) =
    (excluded.organization_id, excluded.product_id, excluded.user_id, excluded.seid,
     excluded.record_status, excluded.legacy_record, excluded.proctor_ids, excluded.certified_on,
     excluded.user_name_key, excluded.proctor_name_key, excluded.product_name_key, excluded.search_text,
     excluded.document)
  where (r.*) is distinct from (excluded.*);
  get diagnostics written = row_count;

  if deleted + written > 0 then
    update export_state set version = version + 1;
  end if;
end
$$;

-- The triggers. They are statement-level with transition tables: one call a statement, not one a row.
-- Postgres allows such a trigger one event only, hence one for each of insert, update and delete; inside
-- the functions only the tables of the event at hand exist.

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
  if ids is null then
    return null;
  end if;
  perform lock_export();
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
    select array_agg(distinct assessment_id), array_agg(id) into ids, part_ids from old_rows;
  else
    select array_agg(distinct assessment_id), array_agg(distinct id) into ids, part_ids
    from (select assessment_id, id from new_rows union select assessment_id, id from old_rows) as changed;
  end if;
  if ids is null then
    return null;
  end if;
  perform lock_export();
  if tg_op <> 'DELETE' then
    perform refuse_shared_ids(part_ids);
  end if;
  perform refresh_export_records(ids);
  return null;
end
$$;

-- A part's id is never the id of another assessment: the retrieve endpoint takes the one and must answer
-- 404 to the other (spec 4.3). Called behind the lock, so that two writers can not make one each.
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

-- A rename reaches every record that shows the name. Which records those are is asked behind the lock, or
-- an assessment that another writer is just adding would be missed and keep the old name.

create function users_changed() returns trigger
language plpgsql set search_path from current as $$
declare
  changed bigint[] := array(
    select n.id from new_rows n join old_rows o on o.id = n.id where (n.*) is distinct from (o.*)
  );
begin
  if changed = '{}' then
    return null;
  end if;
  perform lock_export();
  perform refresh_export_records(array(
    select id from assessments where user_id = any (changed)
    union
    select assessment_id from assessment_parts where proctor_id = any (changed)
  ));
  return null;
end
$$;

create function organizations_changed() returns trigger
language plpgsql set search_path from current as $$
declare
  changed bigint[] := array(
    select n.id from new_rows n join old_rows o on o.id = n.id where n.name <> o.name
  );
begin
  if changed = '{}' then
    return null;
  end if;
  perform lock_export();
  perform refresh_export_records(array(select id from assessments where organization_id = any (changed)));
  return null;
end
$$;

create function products_changed() returns trigger
language plpgsql set search_path from current as $$
declare
  changed bigint[] := array(
    select n.id from new_rows n join old_rows o on o.id = n.id where n.name <> o.name
  );
begin
  if changed = '{}' then
    return null;
  end if;
  perform lock_export();
  perform refresh_export_records(array(select id from assessments where product_id = any (changed)));
  return null;
end
$$;

-- What is deleted is in no record, or a reference would refuse it. But references are checked at the end of a
-- statement, and one statement can delete a row and put another one under its id.

create function users_deleted() returns trigger
language plpgsql set search_path from current as $$
declare
  replaced bigint[] := array(select id from old_rows join users using (id));
begin
  if replaced = '{}' then
    return null;
  end if;
  perform lock_export();
  perform refresh_export_records(array(
    select id from assessments where user_id = any (replaced)
    union
    select assessment_id from assessment_parts where proctor_id = any (replaced)
  ));
  return null;
end
$$;

create function organizations_deleted() returns trigger
language plpgsql set search_path from current as $$
declare
  replaced bigint[] := array(select id from old_rows join organizations using (id));
begin
  if replaced = '{}' then
    return null;
  end if;
  perform lock_export();
  perform refresh_export_records(array(select id from assessments where organization_id = any (replaced)));
  return null;
end
$$;

create function products_deleted() returns trigger
language plpgsql set search_path from current as $$
declare
  replaced bigint[] := array(select id from old_rows join products using (id));
begin
  if replaced = '{}' then
    return null;
  end if;
  perform lock_export();
  perform refresh_export_records(array(select id from assessments where product_id = any (replaced)));
  return null;
end
$$;

-- Without assessments or without parts there is nothing to export; either TRUNCATE empties the read model.
create function assessments_truncated() returns trigger
language plpgsql set search_path from current as $$
begin
  perform lock_export();
  delete from export_records;
  if found then
    update export_state set version = version + 1;
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

-- A new user, organization or product is in no record yet.
create trigger users_updated after update on users
  referencing old table as old_rows new table as new_rows for each statement execute function users_changed();
create trigger users_deleted after delete on users
  referencing old table as old_rows for each statement execute function users_deleted();
create trigger organizations_deleted after delete on organizations
  referencing old table as old_rows for each statement execute function organizations_deleted();
create trigger products_deleted after delete on products
  referencing old table as old_rows for each statement execute function products_deleted();
create trigger organizations_updated after update on organizations
  referencing old table as old_rows new table as new_rows for each statement execute function organizations_changed();
create trigger products_updated after update on products
  referencing old table as old_rows new table as new_rows for each statement execute function products_changed();

create trigger export_state_time_zone_changed after update of time_zone on export_state
  for each row when (old.time_zone is distinct from new.time_zone) execute function time_zone_changed();
