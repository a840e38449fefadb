-- Integrations: who may read what, and the tokens they read it with.
--
-- The scope (spec 1: a set of organizations and a set of assessments, here called products) is two arrays
-- and not two join tables: it is read whole with every request, and replaced whole by provisioning.
-- It does not reference organizations and products: an organization that leaves the platform's data and
-- comes back must not silently have left a scope in between. Provisioning checks the ids instead.
create table integrations (
  id bigint generated always as identity primary key,
  client_id text not null unique
    constraint integrations_client_id_alphanumeric check (client_id ~ '^[A-Za-z0-9]+$'),
  name text not null
    constraint integrations_name_not_blank check (btrim(name, E' \t\r\n') <> '')
    constraint integrations_name_length check (char_length(name) <= 500),
  organization_ids bigint[] not null default '{}',
  product_ids bigint[] not null default '{}',
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);

-- Only SHA-256 digests of secrets and tokens are stored. Both are 256 random bits, which no dictionary
-- holds, so a slow password hash would buy nothing and give attackers a way to burn the server's time.
--
-- More than one secret may live at a time, so that a rotation can overlap; expires_at is the end of the
-- grace of the older one. last_used_at is when a token of the secret last made a request, to the minute: it
-- tells an operator whether the old secret is still in use. It is kept here and not with the token, because
-- tokens are purged, and because a write a request would cost more than the request.
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

-- For the role that serves, which may not touch secrets otherwise (axport migrate --grant): it deletes those
-- whose grace is over, and nothing else.
select set_config('search_path', current_setting('search_path') || ', pg_temp', true);
create function purge_ended_secrets() returns void
language sql security definer set search_path from current as $$
  delete from integration_secrets where expires_at <= now()
$$;
revoke execute on function purge_ended_secrets() from public;
