-- A token is looked up by two keys, its digest and its integration, and no longer by three.
-- Programs of older schemas insert, read and purge tokens as before: a trigger completes what they insert.
-- compatible-with: 5

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- With the view, all that it reads is locked in the order in which requests lock it, so that none is between two locks.
lock table live_tokens in access exclusive mode;

-- What the secret contributes to a token is decided when it changes: the integration, and the end of the grace, at which
-- the token expires at the latest. Whether the integration is disabled, and its scope, stay in the row of the integration
-- alone, where each request reads them. So the changes of an integration need no copy and no flag. A secret that is given
-- more time by hand gives none to the tokens that it has issued before.
alter table access_tokens add column integration_id bigint;
update access_tokens t set integration_id = s.integration_id, expires_at = least(t.expires_at, s.expires_at)
from integration_secrets s where s.id = t.secret_id;
alter table access_tokens alter column integration_id set not null;

-- The integration is that of the secret, also if the secret is given to another one by hand. Deleting the secret deletes
-- its tokens, as before. A second reference, to integrations, would cost each new token a look-up, an index entry, and a
-- lock for which it would wait while an operator changes the integration.
alter table integration_secrets add constraint integration_secrets_integration unique (id, integration_id);
alter table access_tokens
  drop constraint access_tokens_secret_id_fkey,
  add constraint access_tokens_secret foreign key (secret_id, integration_id)
    references integration_secrets (id, integration_id) on delete cascade on update cascade;

-- SQL by hand and older programs name neither the integration nor the end of the grace. The lock is the one that the
-- foreign key takes anyway. It waits for a transaction that ends the secret, and then returns the row as that left it; it
-- does not wait for one that writes last_used_at. With the rights of the owner: the role that serves cannot lock secrets.
create function complete_token() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  secret record;
begin
  select s.integration_id, s.expires_at into secret
  from integration_secrets s where s.id = new.secret_id for key share;
  if not found then
    raise foreign_key_violation using message = 'the secret of the token does not exist';
  end if;
  new.integration_id := secret.integration_id;
  new.expires_at := least(new.expires_at, secret.expires_at);
  return new;
end
$$;
revoke execute on function complete_token from public;
create trigger access_tokens_complete before insert or update of secret_id, integration_id, expires_at on access_tokens
  for each row execute function complete_token();

-- The end of a secret is the end of its tokens. The lock waits for tokens that are being issued, which the update then
-- finds, and keeps out later ones until the commit: the update of the secret alone would do neither.
create function end_tokens() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- In a snapshot from before the lock, tokens that were issued meanwhile would be missed.
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    raise exception using errcode = 'feature_not_supported',
      message = 'a secret is ended in a READ COMMITTED transaction only, so that all of its tokens end with it';
  end if;
  perform from integration_secrets s where s.id = old.id for update;
  update access_tokens t set expires_at = new.expires_at where t.secret_id = old.id and t.expires_at > new.expires_at;
  return new;
end
$$;
revoke execute on function end_tokens from public;
create trigger integration_secrets_end_tokens before update of expires_at on integration_secrets
  for each row execute function end_tokens();

-- The columns are those of 0005, whose live_token() returns them. What 0005 says of connections that ask for a new plan
-- each time is no longer so: they keep one plan for each prepared statement. live_token() is for statements that are not
-- prepared: planning two tables takes them 0.05 ms longer than calling the function.
create or replace view live_tokens with (security_invoker = true) as
select t.digest, t.secret_id, i.client_id, i.organization_ids, i.product_ids, i.scope_digest
from access_tokens t
join integrations i on i.id = t.integration_id
where t.expires_at > now() and i.disabled_at is null;
