-- The history of integrations: all that operators have done with them, also after an integration was deleted. Triggers
-- write it, so that it has the operator's SQL as well as the commands.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A row for each event. Whoever has to keep the name and purpose of some moment (a disclosure) keeps the id of a row.
--   name, purpose  as they were after the event; before it if it deleted the integration
--   event          created; found: was written past the triggers; described: another name, purpose, contact or client
--                  id; scope; rotated: got a secret; secret: one of its secrets ended, or ends at another time; disabled;
--                  enabled; deleted. The deletion of a secret whose time is over is no event.
--   changes        [before, after], and for sets what was added and removed. A secret is named by its id, never by its
--                  digest.
--   role           who logged in, whatever role it took on afterwards
--   host           where from: the address or, if the server sees none (a unix socket), the name that the command gives
create table integration_history (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  client_id text not null,
  name text not null,
  purpose text,
  event text not null
    constraint integration_history_event_known check (event in
      ('created', 'found', 'described', 'scope', 'rotated', 'secret', 'disabled', 'enabled', 'deleted')),
  changes jsonb not null,
  role text not null default session_user,
  host text default coalesce(host(inet_client_addr()), left(nullif(current_setting('axport.host', true), ''), 255))
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

-- [before, after], or null if they are the same.
create function changed_value(before jsonb, after jsonb) returns jsonb
language sql immutable parallel safe
return case when before is distinct from after then jsonb_build_array(before, after) end;
revoke execute on function changed_value from public;

-- What was added to a set and removed from it, or null if it is the same.
create function changed_ids(before bigint[], after bigint[]) returns jsonb
language sql immutable parallel safe
return nullif(
  jsonb_strip_nulls(jsonb_build_object(
    'added', (select jsonb_agg(id order by id) from (select unnest(after) except select unnest(before)) as come (id)),
    'removed', (select jsonb_agg(id order by id) from (select unnest(before) except select unnest(after)) as gone (id))
  )),
  '{}'
);
revoke execute on function changed_ids from public;

-- All that differs between two rows of an integration; one is null if it was created or deleted. A new integration may
-- already have its first secret, because axport integration create writes both in one statement.
create function integration_changes(before integrations, after integrations) returns jsonb
language sql stable
return jsonb_strip_nulls(jsonb_build_object(
  'client_id', case when (before).id = (after).id then
    changed_value(to_jsonb((before).client_id), to_jsonb((after).client_id))
  end,
  'name', changed_value(to_jsonb((before).name), to_jsonb((after).name)),
  'purpose', changed_value(to_jsonb((before).purpose), to_jsonb((after).purpose)),
  'contact', changed_value(to_jsonb((before).contact), to_jsonb((after).contact)),
  'organizations', changed_ids((before).organization_ids, (after).organization_ids),
  'products', changed_ids((before).product_ids, (after).product_ids),
  'all_organizations', changed_value(
    to_jsonb(coalesce((before).all_organizations, false)), to_jsonb(coalesce((after).all_organizations, false))
  ),
  'all_products', changed_value(
    to_jsonb(coalesce((before).all_products, false)), to_jsonb(coalesce((after).all_products, false))
  ),
  'disabled_at', changed_value(to_jsonb((before).disabled_at), to_jsonb((after).disabled_at)),
  'secrets', case when (before).id is null then
    changed_ids('{}', array(select s.id from integration_secrets s where s.integration_id = (after).id))
  end
));
revoke execute on function integration_changes from public;

create function note_integration() returns trigger
language plpgsql security definer set search_path from current set timezone = 'UTC' as $$
declare
  before integrations;
  after integrations;
begin
  if tg_op = 'TRUNCATE' then
    insert into integration_history (client_id, name, purpose, event, changes)
    select i.client_id, i.name, i.purpose, 'deleted', integration_changes(i, null) from integrations i order by i.id;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    before := old;
  end if;
  if tg_op <> 'DELETE' then
    after := new;
  end if;
  if tg_op <> 'UPDATE' then
    insert into integration_history (client_id, name, purpose, event, changes)
    values (
      coalesce(after.client_id, before.client_id),
      coalesce(after.name, before.name),
      coalesce(after.purpose, before.purpose),
      case tg_op when 'INSERT' then 'created' else 'deleted' end,
      integration_changes(before, after)
    );
    return null;
  end if;
  -- An event for each kind of change, under both client ids if that has changed.
  insert into integration_history (client_id, name, purpose, event, changes)
  select known.client_id, after.name, after.purpose, kind.event, jsonb_object_agg(change.key, change.value)
  from jsonb_each(integration_changes(before, after)) as change
  cross join lateral (
    select case
      when change.key = 'disabled_at' then case when after.disabled_at is null then 'enabled' else 'disabled' end
      when change.key in ('client_id', 'name', 'purpose', 'contact') then 'described'
      else 'scope'
    end
  ) as kind (event)
  cross join (select before.client_id union select after.client_id) as known (client_id)
  group by known.client_id, kind.event
  order by known.client_id, kind.event;
  return null;
end
$$;
revoke execute on function note_integration from public;

create trigger integrations_history after insert or update or delete on integrations
  for each row execute function note_integration();
create trigger integrations_history_truncated before truncate on integrations
  for each statement execute function note_integration();

-- If the integration itself was deleted, its secrets go with it, and this finds no integration.
create function note_secret() returns trigger
language plpgsql security definer set search_path from current set timezone = 'UTC' as $$
begin
  if tg_op = 'TRUNCATE' then
    insert into integration_history (client_id, name, purpose, event, changes)
    select i.client_id, i.name, i.purpose, 'secret',
      jsonb_build_object('secrets', changed_ids(array_agg(s.id), '{}'))
    from integrations i join integration_secrets s on s.integration_id = i.id
    where s.expires_at is null or s.expires_at > now()
    group by i.id order by i.id;
    return null;
  end if;
  if tg_op = 'UPDATE' and old.integration_id = new.integration_id and old.digest = new.digest then
    insert into integration_history (client_id, name, purpose, event, changes)
    select i.client_id, i.name, i.purpose, 'secret',
      jsonb_build_object('secret', new.id, 'expires_at', jsonb_build_array(old.expires_at, new.expires_at))
    from integrations i
    where i.id = new.integration_id and old.expires_at is distinct from new.expires_at;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    insert into integration_history (client_id, name, purpose, event, changes)
    select i.client_id, i.name, i.purpose, 'secret', jsonb_build_object('secrets', changed_ids(array[old.id], '{}'))
    from integrations i
    where i.id = old.integration_id and (old.expires_at is null or old.expires_at > now());
  end if;
  if tg_op <> 'DELETE' then
    -- The event `created` already has the first secret.
    insert into integration_history (client_id, name, purpose, event, changes)
    select i.client_id, i.name, i.purpose, 'rotated',
      jsonb_build_object('secrets', changed_ids('{}', array[new.id]))
        || jsonb_strip_nulls(jsonb_build_object('expires_at', changed_value(null, to_jsonb(new.expires_at))))
    from integrations i
    left join lateral (
      select h.event, h.changes from integration_history h where h.client_id = i.client_id order by h.id desc limit 1
    ) as newest on true
    where i.id = new.integration_id
      and (newest.event = 'created' and newest.changes -> 'secrets' -> 'added' @> to_jsonb(new.id)) is not true;
  end if;
  return null;
end
$$;
revoke execute on function note_secret from public;

create trigger integration_secrets_history
  after insert or delete or update of integration_id, digest, expires_at on integration_secrets
  for each row execute function note_secret();
create trigger integration_secrets_history_truncated before truncate on integration_secrets
  for each statement execute function note_secret();

-- The first row of each integration that has none, because it was written past the triggers.
create function note_found_integrations() returns void
language sql set search_path from current set timezone = 'UTC' as $$
  insert into integration_history (client_id, name, purpose, event, changes)
  select i.client_id, i.name, i.purpose, 'found', integration_changes(null, i)
  from integrations i
  where not exists (select from integration_history h where h.client_id = i.client_id)
  order by i.id
$$;
revoke execute on function note_found_integrations from public;
