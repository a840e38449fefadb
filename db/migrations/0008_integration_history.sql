-- The history of integrations: what commands have done with them, also after an integration was deleted. Each command
-- inserts its row in the transaction of its change. Changes by SQL leave no row.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A row for each event.
--   name, purpose  as they were after the event; before it if it deleted the integration
--   event          created; described: another name, purpose or contact; scope; rotated: got another secret; undone: the
--                  rotation before it was taken back, because its secret could not be printed; disabled; enabled; deleted
--   changes        [before, after], and for sets what was added and removed. A secret is named by its id, never by its
--                  digest.
--   by             the person who ran the command: the login name, or what --by says; null if neither is known
--   role           who logged in, whatever role it took on afterwards
--   host           where from: the address or, if the server sees none (a unix socket), the name of the machine
create table integration_history (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  client_id text collate "C" not null,
  name text not null,
  purpose text,
  event text not null
    constraint integration_history_event_known check (event in
      ('created', 'described', 'scope', 'rotated', 'undone', 'disabled', 'enabled', 'deleted')),
  changes jsonb not null,
  by text,
  role text not null default session_user,
  host text not null
);
create index integration_history_client_id on integration_history (client_id, id);

-- Nobody amends it. The owner can turn this trigger off, and axport doctor reports that.
create function refuse_to_amend() returns trigger
language plpgsql set search_path from current as $$
begin
  raise insufficient_privilege using message = format('%s is only ever added to', tg_table_name);
end
$$;
create trigger integration_history_append_only before update or delete or truncate on integration_history
  for each statement execute function refuse_to_amend();
