-- Disclosures: which answers have shown whose records to which integration.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Whether answers are recorded, and for how long the record is kept; null stands for ever. The statement that reads a page
-- reads this row in the same snapshot, so no process can have another opinion. It is not in export_state: each writer leaves
-- a version of that row, which every page would have to skip while somebody holds an old snapshot, and a role that loads may
-- update it.
create table disclosure_state (
  singleton boolean primary key default true
    constraint disclosure_state_one_row check (singleton),
  is_on boolean not null default false,
  kept interval default interval '400 days'
    constraint disclosure_state_kept_positive check (kept > interval '0')
);
insert into disclosure_state default values;
-- Never analyzed, a table is taken for a thousand rows.
analyze disclosure_state;

-- A row for each answer that has records, written before the answer is sent. It has no name, email, seid or search text.
--   key         made for the answer by the service, ascending (UUID version 7): a repetition after a lost connection
--               finds the row
--   client_id   of the integration. Its name and purpose at that time are in integration_history, or in integrations if
--               no command has changed it.
--   address     of the client, as in the request log; null if the client was gone before it was known
--   filters     the names of the filters that the request had; null for none
--   user_ids    the educators of the assessments, each once. The two arrays have four bytes for each id, which halves
--               the table. Ids beyond integer are in the columns large_*, which are nearly always null.
-- The index by time serves the purge and questions about a period. One by user id would cost several times as much as the
-- row, for each answer, for a question that is asked once a year and that a scan answers.
create table disclosures (
  key uuid primary key,
  at timestamptz not null default clock_timestamp(),
  client_id text collate "C" not null,
  request_id text not null
    constraint disclosures_request_id_length check (char_length(request_id) <= 64),
  address inet,
  filters text[],
  assessment_ids integer[] not null,
  user_ids integer[] not null,
  large_assessment_ids bigint[],
  large_user_ids bigint[]
);
create index disclosures_at on disclosures (at);

-- Records an answer, for the role that serves, which cannot read, change or delete what is recorded. The commit must be on
-- disk before the answer is sent, also where settings say synchronous_commit = off. One plan for all values, because
-- planning takes longer than inserting.
create function record_disclosure(
  key uuid, request_id text, address inet, client_id text, assessment_ids bigint[], user_ids bigint[], filters text[]
) returns void
language plpgsql security definer set search_path from current set plan_cache_mode = force_generic_plan as $$
begin
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'local', true);
  end if;
  if 2147483647 >= all (assessment_ids) and 2147483647 >= all (user_ids)
    and -2147483648 <= all (assessment_ids) and -2147483648 <= all (user_ids)
  then
    insert into disclosures (key, client_id, request_id, address, filters, assessment_ids, user_ids)
    values (key, client_id, request_id, address, filters, assessment_ids::integer[], user_ids::integer[])
    on conflict on constraint disclosures_pkey do nothing;
  else
    insert into disclosures (
      key, client_id, request_id, address, filters, assessment_ids, user_ids, large_assessment_ids, large_user_ids
    )
    values (
      key, client_id, request_id, address, filters,
      array(select id::integer from unnest(assessment_ids) as id where id between -2147483648 and 2147483647),
      array(select id::integer from unnest(user_ids) as id where id between -2147483648 and 2147483647),
      (select array_agg(id) from unnest(assessment_ids) as id where id not between -2147483648 and 2147483647),
      (select array_agg(id) from unnest(user_ids) as id where id not between -2147483648 and 2147483647)
    )
    on conflict on constraint disclosures_pkey do nothing;
  end if;
end
$$;
revoke execute on function record_disclosure(uuid, text, inet, text, bigint[], bigint[], text[]) from public;

-- Deletes at most 1,000 of those that are older than they are kept, oldest first, and returns how many; for the role that
-- serves, which can delete no others.
create function purge_disclosures() returns integer
language sql security definer set search_path from current as $$
  with purged as (
    delete from disclosures
    where key in (
      select key from disclosures where at < now() - (select kept from disclosure_state) order by at limit 1000
    )
    returning key
  )
  select count(*)::integer from purged
$$;
revoke execute on function purge_disclosures() from public;
