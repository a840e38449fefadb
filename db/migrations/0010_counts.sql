-- How many records there are, by organization and product: the first page of a scope adds these up instead of counting
-- the records. Programs of the schemas before count as they did, and what they write is counted by the triggers.
-- compatible-with: 5

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A count reads an index entry for each record, 0.33 µs: 60 ms for three large organizations, 150 ms and more for a
-- scope of hundreds. Here are as many rows as organizations have products: 20,000 for 1,000,000 records, 2 MB with
-- the key. Scopes are sets of both, so any scope, also one that a request narrows, is a sum of rows. What filters leave
-- is not. The room that is left free on each page takes new versions of its rows, without new entries in the index.
create table export_counts (
  organization_id bigint,
  product_id bigint,
  records bigint not null
    constraint export_counts_positive check (records > 0),
  primary key (organization_id, product_id)
) with (fillfactor = 70);

-- Whatever writes the read model is counted once a statement, in its own transaction and behind the queue: every
-- snapshot has the counts of the records that it has, and no two writers wait for a row of these. A statement that moves
-- no record from one count to another writes nothing here. Written with the rights of its owner, as the log is.
-- Where somebody wrote records past the triggers, a count could fall below nought: it goes. axport refresh counts anew.
-- A generic plan is one of few rows, which looks each up; for the 20,000 of a large load that is as good.
create function export_records_counted() returns trigger
language plpgsql security definer set search_path from current set plan_cache_mode = force_generic_plan as $$
declare
  moves export_counts[];
begin
  if tg_op = 'TRUNCATE' then
    perform lock_export();
    delete from export_counts;
    return null;
  elsif tg_op = 'INSERT' then
    moves := array(
      select row(organization_id, product_id, count(*))::export_counts from new_rows group by organization_id, product_id
    );
  elsif tg_op = 'DELETE' then
    moves := array(
      select row(organization_id, product_id, -count(*))::export_counts from old_rows group by organization_id, product_id
    );
  else
    moves := array(
      select row(organization_id, product_id, sum(delta))::export_counts
      from (
        select organization_id, product_id, 1 as delta from new_rows
        union all select organization_id, product_id, -1 from old_rows
      ) as changes
      group by organization_id, product_id having sum(delta) <> 0
    );
  end if;
  if moves = '{}' then
    return null;
  end if;

  perform lock_export();
  merge into export_counts c
  using unnest(moves) as m on c.organization_id = m.organization_id and c.product_id = m.product_id
  when matched and c.records + m.records > 0 then update set records = c.records + m.records
  when matched then delete
  when not matched and m.records > 0 then insert values (m.organization_id, m.product_id, m.records);
  return null;
end
$$;
revoke execute on function export_records_counted() from public;

-- Counts the records of these organizations anew, for axport refresh. Only for roles that load: others wait behind it.
create function refresh_export_counts(organizations bigint[]) returns void
language plpgsql security definer set search_path from current set plan_cache_mode = force_custom_plan as $$
begin
  perform lock_export();
  delete from export_counts where organization_id = any (organizations);
  insert into export_counts
  select organization_id, product_id, count(*) from export_records
  where organization_id = any (organizations) group by 1, 2 order by 1, 2;
end
$$;
revoke execute on function refresh_export_counts(bigint[]) from public;

-- What is there already. Imports first (the number is that of their lock): a first load that began before this turns all
-- triggers off that it finds, and its program would count nothing itself. Then the queue, as every writer; the triggers shut out whoever writes records without it.
select pg_advisory_xact_lock(7241905834);
select lock_export();
create trigger export_records_inserted_counted after insert on export_records
  referencing new table as new_rows for each statement execute function export_records_counted();
create trigger export_records_updated_counted after update on export_records
  referencing old table as old_rows new table as new_rows for each statement execute function export_records_counted();
create trigger export_records_deleted_counted after delete on export_records
  referencing old table as old_rows for each statement execute function export_records_counted();
create trigger export_records_truncated_counted after truncate on export_records
  for each statement execute function export_records_counted();
insert into export_counts
select organization_id, product_id, count(*) from export_records group by 1, 2 order by 1, 2;
analyze export_counts;
