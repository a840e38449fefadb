-- Integrations: who may read what, and the tokens they read it with.

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Names a scope: equal for equal sets in equal order, and for no others. What a server remembers is of a digest, and
-- the page's statement compares it with that of the token's scope; comparing two sets of hundreds of ids would take
-- longer than the page. Immutable as far as a bigint is: to the server, an array's output function is not.
create function scope_digest(organization_ids bigint[], product_ids bigint[]) returns text
language sql immutable strict parallel safe
return encode(sha256(convert_to(organization_ids::text || product_ids::text, 'UTF8')), 'hex');

-- The scope (spec 1: a set of organizations and a set of assessments, here called products) is two arrays
-- and not two join tables: it is read whole with every request, and replaced whole by provisioning.
-- It does not reference organizations and products: an organization that leaves the platform's data and
-- comes back must not silently have left a scope in between. Provisioning checks the ids instead.
-- A set that was meant as all holds what there was then, and no request gets more (spec 1: fixed when provisioned).
-- all_organizations and all_products keep the meaning: operators are told what has come since.
create table integrations (
  id bigint generated always as identity primary key,
  client_id text not null unique
    constraint integrations_client_id_alphanumeric check (client_id ~ '^[A-Za-z0-9]+$'),
  name text not null
    constraint integrations_name_not_blank check (btrim(name, E' \t\r\n') <> '')
    constraint integrations_name_length check (char_length(name) <= 500),
  organization_ids bigint[] not null default '{}',
  product_ids bigint[] not null default '{}',
  all_organizations boolean not null default false,
  all_products boolean not null default false,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  scope_digest text not null generated always as (scope_digest(organization_ids, product_ids)) stored
);

-- Each set is kept ascending, each id once, whoever writes it: whether a record is in the scope is asked of hundreds
-- of records a page, and a binary search (width_bucket) answers it.
create function order_scope() returns trigger
language plpgsql set search_path from current as $$
begin
  new.organization_ids := array(select distinct id from unnest(new.organization_ids) id where id is not null order by id);
  new.product_ids := array(select distinct id from unnest(new.product_ids) id where id is not null order by id);
  return new;
end
$$;
create trigger integrations_order_scope before insert or update of organization_ids, product_ids on integrations
  for each row execute function order_scope();

-- Only SHA-256 digests of secrets and tokens are stored. Both are 256 random bits, which no dictionary
-- holds, so a slow password hash would buy nothing and give attackers a way to burn the server's time.
--
-- More than one secret may live at a time, so that a rotation can overlap; expires_at is the end of the grace of the
-- older one. last_used_at is when a token of the secret last made a request, to the minute: it tells an operator
-- whether the old secret is still in use. It is not kept with the token, because tokens are purged.
create table integration_secrets (
  id bigint generated always as identity primary key,
  integration_id bigint not null references integrations on delete cascade,
  digest bytea not null
    constraint integration_secrets_digest_is_sha256 check (octet_length(digest) = 32),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz
);
create index integration_secrets_integration_id on integration_secrets (integration_id);

-- A token names the secret it was issued under: deleting a secret ends its tokens in the same transaction
-- (spec 5, rule 8). It lives 7200 seconds (spec 2.4).
create table access_tokens (
  digest bytea primary key
    constraint access_tokens_digest_is_sha256 check (octet_length(digest) = 32),
  secret_id bigint not null references integration_secrets on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index access_tokens_secret_id on access_tokens (secret_id);
create index access_tokens_expires_at on access_tokens (expires_at);

-- A secret is good until the end of its grace, and a token for its own time, as long as the integration is not
-- disabled. Said once, here, for the statements that issue a token and for all that ask who presents one.
-- With the privileges of whoever asks: the role that serves has them (axport migrate --grant), and no other.
create view live_secrets with (security_invoker = true) as
select s.id, s.digest, i.client_id, i.organization_ids, i.product_ids, i.scope_digest
from integrations i
join integration_secrets s on s.integration_id = i.id
where (s.expires_at is null or s.expires_at > now()) and i.disabled_at is null;

create view live_tokens with (security_invoker = true) as
select t.digest, t.secret_id, s.client_id, s.organization_ids, s.product_ids, s.scope_digest
from access_tokens t
join live_secrets s on s.id = t.secret_id
where t.expires_at > now();

-- The live token with this digest. Three tables take 0.16 ms to plan and 0.01 ms to read; in a function Postgres
-- plans them once a connection. The connections of the service ask for a new plan each time, for the sake of
-- the pages.
create function live_token(digest bytea) returns setof live_tokens
language plpgsql stable parallel safe rows 1 set search_path from current set plan_cache_mode = force_generic_plan as $$
begin
  return query select t.* from live_tokens t where t.digest = live_token.digest;
end
$$;

-- For the role that serves, which may not touch secrets otherwise (axport migrate --grant): it deletes those
-- whose grace is over, and nothing else.
create function purge_ended_secrets() returns void
language sql security definer set search_path from current as $$
  delete from integration_secrets where expires_at <= now()
$$;
revoke execute on function purge_ended_secrets() from public;

-- Why requests of an integration were refused, or did not do what they seem to ask for, with how often and when:
-- axport integration show prints it. `what` is one of some dozen sentences of ours, never what was sent. One that was
-- not said for a week counts from one again.
create table integration_refusals (
  integration_id bigint not null references integrations on delete cascade,
  what text not null,
  count bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (integration_id, what)
);
