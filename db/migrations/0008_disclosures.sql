-- Disclosures: which answers have shown whose records to which integration.
-- Programs of older schemas can serve and provision as long as nothing is recorded. They would not record: the switch
-- (axport migrate --disclosures on) raises what schema_migrations says of this migration, and they refuse the database.
-- compatible-with: 5

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Whether answers are recorded, and for how long the record is kept; null stands for ever. One row for the database, so
-- that no process can have another opinion: the statement that reads a page reads the switch in the same snapshot.
-- Not in export_state: each writer leaves a version of that row, which every page would have to pass over while somebody
-- holds an old snapshot, and a role that loads may update that row.
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

-- A row for each answer that carries records, written before the answer is sent. The columns hold no name, email, seid
-- or search text.
--   key         is made for the answer by the service (version 7, so that keys ascend): repeated after a lost connection,
--               the record of one answer is one row.
--   history_id  the row of integration_history that has the integration's client id, and its name and purpose as they
--               were: eight bytes instead of three texts. No reference, which would cost a look-up and a lock an answer;
--               nobody can delete a row of the history.
--   address     of the client, as in the request log; null where the client was gone before it was known.
--   filters     the names of the filters that the request had; null for none.
--   user_ids    the educators of the assessments, each once. Four bytes an id: as bigint the two arrays would double the
--               table. Ids beyond integer stand in the columns large_*, which are null nearly always.
-- One index by time, for the purge and for questions about a period. An index by user id would cost several times what
-- the row costs, at each answer, for a question that is asked once a year and that a scan answers.
create table disclosures (
  key uuid primary key,
  at timestamptz not null default clock_timestamp(),
  history_id bigint not null,
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

-- The one way in, for the role that serves: it can neither read, change nor delete what is recorded. The answer waits for
-- the commit, which has to be on disk then, also where somebody's settings say synchronous_commit = off. One plan for all
-- values: to plan takes longer than to insert. Ids beyond integer are looked for once, and set apart where there are any.
create function record_disclosure(
  key uuid, request_id text, address inet, client_id text, assessment_ids bigint[], user_ids bigint[], filters text[]
) returns void
language plpgsql security definer set search_path from current set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  history bigint := (select max(h.id) from integration_history h where h.client_id = record_disclosure.client_id);
begin
  -- An integration that was written past the triggers.
  if history is null then
    perform note_found_integrations();
    history := (select max(h.id) from integration_history h where h.client_id = record_disclosure.client_id);
  end if;
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'local', true);
  end if;
  if 2147483647 >= all (record_disclosure.assessment_ids) and 2147483647 >= all (record_disclosure.user_ids)
    and -2147483648 <= all (record_disclosure.assessment_ids) and -2147483648 <= all (record_disclosure.user_ids)
  then
    insert into disclosures (key, history_id, request_id, address, filters, assessment_ids, user_ids)
    values (
      record_disclosure.key, history, record_disclosure.request_id, record_disclosure.address, record_disclosure.filters,
      record_disclosure.assessment_ids::integer[], record_disclosure.user_ids::integer[]
    )
    on conflict (key) do nothing;
  else
    insert into disclosures (
      key, history_id, request_id, address, filters, assessment_ids, user_ids, large_assessment_ids, large_user_ids
    )
    select
      record_disclosure.key, history, record_disclosure.request_id, record_disclosure.address, record_disclosure.filters,
      array(select id::integer from unnest(record_disclosure.assessment_ids) as id where id between -2147483648 and 2147483647),
      array(select id::integer from unnest(record_disclosure.user_ids) as id where id between -2147483648 and 2147483647),
      (select array_agg(id) from unnest(record_disclosure.assessment_ids) as id where id not between -2147483648 and 2147483647),
      (select array_agg(id) from unnest(record_disclosure.user_ids) as id where id not between -2147483648 and 2147483647)
    on conflict (key) do nothing;
  end if;
end
$$;
revoke execute on function record_disclosure(uuid, text, inet, text, bigint[], bigint[], text[]) from public;

-- Deletes at most 1,000 of those that are older than they are kept, the oldest first, and returns how many; for the role
-- that serves, which cannot delete any other.
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
