-- The log of changes of the read model. A server that remembers how many records of a scope matched, or where a page
-- ended, reads what has changed since and corrects it, instead of counting and skipping anew.

-- Each function keeps a path of its own (set search_path from current): the schema of these tables, by name. Under
-- "$user" a function would look in a schema of whoever writes, and find a table there that has the name of one
-- of ours. Temporary tables come last: left out, they would come first.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A row is a record that came (+1) or went (-1), by value: all that filters and sorts look at, as it was then. A record
-- that changed went and came. Columns have the names of export_records, so that the same conditions hold for both.
-- A row without a delta stands for more than that: any number of changes in its organization, or in all where
-- that is null. Of another document no row is made: nobody remembers documents.
--   position  ascends in the order in which writers commit, because they queue (export_state).
--   tag       is random. A fact is of a position and its tag, and holds only where the log has both: in a
--             database that was set back, the same position comes again, with another tag.
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

-- The log always has a newest row: what is remembered now is of its position.
insert into export_changes default values;

-- What search looks at of a record: its names, search_folded(), a line each.
create function search_text_of(document text) returns text
language sql immutable strict parallel safe
return (
  select search_folded(string_agg(translate(name, E'\n', ' '), E'\n' order by n))
  from unnest(array[document::json ->> 'first_name', document::json ->> 'last_name', document::json ->> 'assessment_name'])
    with ordinality as names (name, n)
);

-- Logs that some records went and others came. The same record on both sides has changed, in its document alone if
-- both are equal in all that is logged.
create function log_changes(gone export_records[], come export_records[]) returns void
language sql set search_path from current as $$
  with gone as materialized (
    select id, organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids, certified_on,
      user_name_key, proctor_name_key, product_name_key, search_text_of(document)
    from unnest(gone)
  ), come as materialized (
    select id, organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids, certified_on,
      user_name_key, proctor_name_key, product_name_key, search_text_of(document)
    from unnest(come)
  )
  insert into export_changes (delta, id, organization_id, product_id, user_id, seid, is_archived, legacy_record,
    proctor_ids, certified_on, user_name_key, proctor_name_key, product_name_key, search_text)
  select -1, * from (table gone except all table come) as gone
  union all
  select 1, * from (table come except all table gone) as come
$$;

-- Whatever writes the read model logs it, once a statement and in its own transaction. The update of export_state is
-- what makes writers commit in the order of positions. A statement of 1,000 changes and more leaves a row
-- for each organization: what others remember lives on, and a load costs nothing. The log is kept at 10,000 rows:
-- reading them all takes 2 ms, and they are minutes of a busy platform.
create function export_records_changed() returns trigger
language plpgsql set search_path from current as $$
declare
  gone export_records[] := '{}';
  come export_records[] := '{}';
begin
  if tg_op in ('UPDATE', 'DELETE') then
    gone := array(select row(o.*)::export_records from old_rows o limit 1000);
  end if;
  if tg_op in ('UPDATE', 'INSERT') then
    come := array(select row(n.*)::export_records from new_rows n limit 1000);
  end if;
  if tg_op <> 'TRUNCATE' and gone = '{}' and come = '{}' then
    return null;
  end if;

  update export_state set version = version + 1;
  if tg_op = 'TRUNCATE' then
    insert into export_changes default values;
  elsif cardinality(gone) + cardinality(come) < 1000 then
    perform log_changes(gone, come);
  elsif tg_op = 'INSERT' then
    insert into export_changes (organization_id) select distinct organization_id from new_rows;
  elsif tg_op = 'DELETE' then
    insert into export_changes (organization_id) select distinct organization_id from old_rows;
  else
    insert into export_changes (organization_id)
    select organization_id from old_rows union select organization_id from new_rows;
  end if;
  delete from export_changes where position <= (select max(position) from export_changes) - 10000;
  return null;
end
$$;

create trigger export_records_inserted after insert on export_records
  referencing new table as new_rows for each statement execute function export_records_changed();
create trigger export_records_updated after update on export_records
  referencing old table as old_rows new table as new_rows for each statement execute function export_records_changed();
create trigger export_records_deleted after delete on export_records
  referencing old table as old_rows for each statement execute function export_records_changed();
create trigger export_records_truncated after truncate on export_records
  for each statement execute function export_records_changed();
