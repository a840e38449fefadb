-- The version of the lists. A server remembers how many records a list has and where its pages end, and reads the next page
-- from there for as long as the version is the same.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- One row for the database: a table of its own, because every writer leaves another version of the row of export_state, and a
-- page would read past all of these.
--   version  random: a database that was set back comes to another version than the one that it has lost
--   made_at  when
create table export_version (
  singleton boolean primary key default true
    constraint export_version_one_row check (singleton),
  version uuid not null default gen_random_uuid(),
  made_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
insert into export_version default values;
-- Never analyzed, a table is taken for a thousand rows.
analyze export_version;

-- Makes another version: every server then counts its lists again. The triggers below call it, and so does whatever writes
-- past them. It has the rights of its owner.
-- * It is made once for each transaction, as the lock of lock_export(): 10,000 statements that each make one take 2.7 s more.
--   The local setting goes with the version when a savepoint before it is rolled back to.
-- * If somebody has deleted the row, it comes back.
-- * Writers queue, so that versions are committed in the order in which they are made, and every snapshot has the records of
--   its version.
create function renew_export_version() returns void
language plpgsql security definer set search_path from current as $$
begin
  if current_setting('axport.version', true) is distinct from pg_current_xact_id()::text then
    perform lock_export();
    insert into export_version default values
    on conflict (singleton) do update set version = excluded.version, made_at = excluded.made_at;
    perform set_config('axport.version', pg_current_xact_id()::text, true);
  end if;
end
$$;
revoke execute on function renew_export_version() from public;

-- Makes another version if a statement has changed a list: records come or go, or change in a column that filters and sorts
-- look at. Documents alone change no list, and nobody remembers them.
-- The ids are unique: if all new rows were there before, they are the old rows.
create function export_records_changed() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if current_setting('axport.version', true) = pg_current_xact_id()::text then
    return null;
  elsif tg_op = 'INSERT' then
    if not exists (select from new_rows) then return null; end if;
  elsif tg_op = 'DELETE' then
    if not exists (select from old_rows) then return null; end if;
  elsif tg_op = 'UPDATE' then
    if not exists (
      select id, organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids, certified_on,
        user_name_key, proctor_name_key, product_name_key
      from new_rows
      except
      select id, organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids, certified_on,
        user_name_key, proctor_name_key, product_name_key
      from old_rows
    ) then return null; end if;
  end if;
  perform renew_export_version();
  return null;
end
$$;
revoke execute on function export_records_changed() from public;

-- The same for the names that search looks at. Those of people and products without records change no list.
create function export_names_changed() returns trigger
language plpgsql security definer set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  ids bigint[];
begin
  if current_setting('axport.version', true) = pg_current_xact_id()::text then
    return null;
  elsif tg_op = 'INSERT' then
    ids := array(select id from new_rows as n (id));
  elsif tg_op = 'DELETE' then
    ids := array(select id from old_rows as o (id));
  elsif tg_op = 'UPDATE' then
    ids := array(
      select id from (table new_rows except table old_rows) as come (id)
      union
      select id from (table old_rows except table new_rows) as gone (id)
    );
  end if;
  if tg_op = 'TRUNCATE'
    or tg_table_name = 'export_people' and exists (select from export_records where user_id = any (ids))
    or tg_table_name = 'export_products' and exists (select from export_counts where product_id = any (ids))
  then
    perform renew_export_version();
  end if;
  return null;
end
$$;
revoke execute on function export_names_changed() from public;

-- Triggers of statements with transition tables, which have one event each.
do $$
declare
  written record;
begin
  for written in
    select * from (values
      ('export_records', 'export_records_changed'),
      ('export_people', 'export_names_changed'),
      ('export_products', 'export_names_changed')
    ) as written (name, function)
  loop
    execute format(
      'create trigger %1$s_inserted after insert on %1$s
         referencing new table as new_rows for each statement execute function %2$s();
       create trigger %1$s_updated after update on %1$s
         referencing old table as old_rows new table as new_rows for each statement execute function %2$s();
       create trigger %1$s_deleted after delete on %1$s
         referencing old table as old_rows for each statement execute function %2$s();
       create trigger %1$s_truncated after truncate on %1$s
         for each statement execute function %2$s()',
      written.name, written.function
    );
  end loop;
end
$$;
