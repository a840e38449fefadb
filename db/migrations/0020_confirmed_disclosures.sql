-- Disclosures: recorded when the standbys that the settings name have confirmed them.
-- Services of older schemas record as before.
-- compatible-with: 5

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- As in 0008, but for two things:
-- * A repetition under the same key writes, and so its commit waits for the standbys of synchronous_standby_names. A
--   repetition that finds its row and writes nothing waits for nobody, though the first commit may be confirmed by none.
-- * Postgres answers with a commit and a warning when it no longer waits for a standby. The service has to get that
--   warning, whatever client_min_messages somebody's settings say.
-- Both settings, and synchronous_commit, are set for the transaction: a session may be shared behind a pooler.
create or replace function record_disclosure(
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
  if current_setting('client_min_messages') = 'error' then
    perform set_config('client_min_messages', 'warning', true);
  end if;
  if 2147483647 >= all (record_disclosure.assessment_ids) and 2147483647 >= all (record_disclosure.user_ids)
    and -2147483648 <= all (record_disclosure.assessment_ids) and -2147483648 <= all (record_disclosure.user_ids)
  then
    insert into disclosures (key, history_id, request_id, address, filters, assessment_ids, user_ids)
    values (
      record_disclosure.key, history, record_disclosure.request_id, record_disclosure.address, record_disclosure.filters,
      record_disclosure.assessment_ids::integer[], record_disclosure.user_ids::integer[]
    )
    on conflict (key) do update set key = excluded.key;
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
    on conflict (key) do update set key = excluded.key;
  end if;
end
$$;
