-- Integrations: who may read what, their secrets, and the tokens with which they read.
--
-- Each request reads three rows by key: its token, the secret of the token, and the integration with the scope and
-- disabled_at. So a change of any of them applies to the next request.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Names a scope: the same for equal sets in the same order, and for no others. What a server remembers belongs to a digest,
-- and the statement of a page compares that with the token's. Comparing two sets of hundreds of ids would take longer
-- than the page. It is declared immutable, as the text of a bigint is; Postgres calls that of an array stable.
create function scope_digest(organization_ids bigint[], product_ids bigint[]) returns text
language sql immutable strict parallel safe
return encode(sha256(convert_to(organization_ids::text || product_ids::text, 'UTF8')), 'hex');

-- The scope (spec 1: a set of organizations and a set of assessments, here called products) is two arrays and not two join
-- tables, because each request reads it whole and provisioning replaces it whole. It has no references: an organization
-- that leaves the platform's data and comes back must not have left a scope silently. Provisioning checks the ids.
-- "All" is stored as the ids of that moment, and no request gets more (spec 1: fixed when provisioned). all_organizations
-- and all_products keep that it was meant as all, so that operators can be told what has come since.
-- purpose and contact say what the integration is for, and whom to ask about it.
create table integrations (
  id bigint generated always as identity primary key,
  client_id text collate "C" not null unique
    constraint integrations_client_id_alphanumeric check (client_id ~ '^[A-Za-z0-9]+$'),
  name text not null
    constraint integrations_name_not_blank check (btrim(name, E' \t\r\n') <> '')
    constraint integrations_name_length check (char_length(name) <= 500),
  purpose text
    constraint integrations_purpose_not_blank check (btrim(purpose, E' \t\r\n') <> '')
    constraint integrations_purpose_length check (char_length(purpose) <= 500),
  contact text
    constraint integrations_contact_not_blank check (btrim(contact, E' \t\r\n') <> '')
    constraint integrations_contact_length check (char_length(contact) <= 500),
  organization_ids bigint[] not null default '{}',
  product_ids bigint[] not null default '{}',
  all_organizations boolean not null default false,
  all_products boolean not null default false,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  scope_digest text not null generated always as (scope_digest(organization_ids, product_ids)) stored
);

-- Postgres compresses the values of a row of more than 2 KB, here scopes of more than some 200 ids. Each request would have
-- to decompress them: 4 of the 16 µs that finding a record by its id takes. A row that fits into a block, with up to some
-- 900 ids, stays as it is.
alter table integrations set (toast_tuple_target = 8160);

-- Each set is kept ascending and without duplicates, whoever writes it: the statement of a page asks of hundreds of records
-- whether they are in the scope, and finds out by a binary search (width_bucket).
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

-- Only SHA-256 digests of secrets and tokens are stored. Both are 256 random bits, which no dictionary has, so a slow
-- password hash would not help, and would give attackers a way to use up the processor.
-- Several secrets can be valid at a time, so that a rotation can overlap.
--   expires_at    the end of the grace of a secret that was replaced
--   last_used_at  when a token of the secret last made a request, to the minute: whether the old secret is still in use. It
--                 is not stored with the token, because tokens are purged.
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

-- A token ends with the secret under which it was issued (spec 5, rule 8), and after 7200 seconds at the latest (spec 2.4):
-- live_tokens looks both up. There is no foreign key, because it would lock the secret for each new token. So a token may
-- outlast its secret. Nobody can use it, and it is purged like an expired one. A token is no older than its secret: after
-- `truncate … restart identity`, a new secret with the same id does not give its integration to a token that is left.
create table access_tokens (
  digest bytea primary key
    constraint access_tokens_digest_is_sha256 check (octet_length(digest) = 32),
  secret_id bigint not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index access_tokens_expires_at on access_tokens (expires_at);

-- Which secrets and tokens are valid now, said once for all statements. The views have the privileges of whoever asks.
create view live_secrets with (security_invoker = true) as
select s.id, s.digest, s.created_at, i.client_id, i.organization_ids, i.product_ids, i.scope_digest
from integrations i
join integration_secrets s on s.integration_id = i.id
where (s.expires_at is null or s.expires_at > now()) and i.disabled_at is null;

create view live_tokens with (security_invoker = true) as
select t.digest, s.client_id, s.organization_ids, s.product_ids, s.scope_digest
from access_tokens t
join live_secrets s on s.id = t.secret_id and s.created_at <= t.created_at
where t.expires_at > now();
