-- The log of changes of the export. A server that remembers how many records of a scope matched, or where a page ended,
-- reads what has changed since and corrects that, instead of counting and skipping again.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A row is a record that was added (+1) or removed (-1), by value: all that filters and sorts look at, as it was then. A
-- record that changed was removed and added. The columns have the names of export_records, so that the same conditions
-- hold for both.
-- A row without a delta stands for any number of changes in its organization, or in all if that is null. A row with a
-- delta of 0 stands for other documents: nobody remembers these, but every write to the export has a position.
--   position  ascends in the order in which writers commit, because they queue. The newest one is the version of the data.
--   tag       random. What a server remembers belongs to a position and its tag: in a database that was set back, the same
--             position comes again with another tag.
create table export_changes (
  position bigint generated always as identity primary key,
  tag uuid not null default gen_random_uuid(),
  delta smallint,
  id bigint,
  organization_id bigint,
  product_id bigint,
  user_id bigint,
  seid text,
  is_archived boolean,
  legacy_record boolean,
  proctor_ids bigint[],
  certified_on date,
  user_name_key text collate "C",
  proctor_name_key text collate "C",
  product_name_key text collate "C",
  search_text text collate "C"
);

-- There is a newest row from the beginning: what is remembered belongs to its position.
insert into export_changes default values;

-- What search looks at of a record: its names, a line each.
create function search_text_of(document text) returns text
language sql immutable strict parallel safe
return (
  select search_folded(string_agg(translate(name, E'\n', ' '), E'\n' order by n))
  from unnest(array[document::json ->> 'first_name', document::json ->> 'last_name', document::json ->> 'assessment_name'])
    with ordinality as names (name, n)
);

-- Logs each statement that writes the export, in the writer's transaction and behind the queue, so that writers commit
-- in the order of positions. A record that is the same before and after in all that is logged has not changed.
-- A statement of 1,000 or more changes leaves a row for each organization: what is remembered of other organizations stays
-- valid, and a load costs nothing here. The log keeps 10,000 rows, which take 2 ms to read and are minutes of a busy
-- platform. It is written and pruned with the rights of the owner: a writer needs none on the log.
create function export_records_changed() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  gone export_records[] := '{}';
  come export_records[] := '{}';
  touched bigint[] := '{}';
begin
  if tg_op in ('UPDATE', 'DELETE') then
    gone := array(select row(o.*)::export_records from old_rows o limit 1000);
    touched := array(select distinct organization_id from old_rows);
  end if;
  if tg_op in ('UPDATE', 'INSERT') then
    come := array(select row(n.*)::export_records from new_rows n limit 1000);
    touched := touched || array(select distinct organization_id from new_rows);
  end if;
  if tg_op <> 'TRUNCATE' and touched = '{}' then
    return null;
  end if;

  perform lock_export();
  if tg_op = 'TRUNCATE' then
    insert into export_changes default values;
  elsif cardinality(gone) + cardinality(come) >= 1000 then
    insert into export_changes (organization_id) select distinct unnest(touched);
  else
    insert into export_changes (delta, id, organization_id, product_id, user_id, seid, is_archived, legacy_record,
      proctor_ids, certified_on, user_name_key, proctor_name_key, product_name_key, search_text)
    select sum(delta), id, organization_id, product_id, user_id, seid, is_archived, legacy_record,
      proctor_ids, certified_on, user_name_key, proctor_name_key, product_name_key, search_text_of(document)
    from (select -1 as delta, * from unnest(gone) union all select 1, * from unnest(come)) as changed
    group by 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
    having sum(delta) <> 0
    order by 1;
    if not found then
      insert into export_changes (delta) values (0);
    end if;
  end if;
  delete from export_changes where position <= (select max(position) from export_changes) - 10000;
  return null;
end
$$;
revoke execute on function export_records_changed() from public;

create trigger export_records_inserted after insert on export_records
  referencing new table as new_rows for each statement execute function export_records_changed();
create trigger export_records_updated after update on export_records
  referencing old table as old_rows new table as new_rows for each statement execute function export_records_changed();
create trigger export_records_deleted after delete on export_records
  referencing old table as old_rows for each statement execute function export_records_changed();
create trigger export_records_truncated after truncate on export_records
  for each statement execute function export_records_changed();

-- Says that anything may have changed; for a role that loads (axport refresh), because every server then counts again.
-- The earlier rows go. Nobody needs them, and they have names, maybe one of an erased person.
create function log_any_change() returns void
language plpgsql security definer set search_path from current as $$
declare
  newest bigint;
begin
  perform lock_export();
  insert into export_changes default values returning position into newest;
  delete from export_changes where position < newest;
end
$$;
revoke execute on function log_any_change() from public;
