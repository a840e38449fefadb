-- What the service needs to read a page, its version and the caller's right to it in one statement.

-- The functions below keep this path; see 0002.
select set_config('search_path', current_setting('search_path') || ', pg_temp', true);

-- The version at which the records of an organization last changed. What a server remembers of a scope (where
-- pages ended, how many records match) holds as long as none of the scope's organizations has changed since: a
-- write to one organization does not disturb the exports of those who can not see it.
create table organization_versions (
  organization_id bigint primary key,
  version bigint not null
);

-- Versions never come round again. A counter alone would: a database that was set back (a backup, a standby
-- that lost the last commits) would give a second state the number of a first one that servers still remember.
-- So it follows the clock, in microseconds, and only counts where writes are faster than that.
-- Returns nothing for no organizations; all of them are given as null.
create function advance_version(organization_ids bigint[]) returns void
language plpgsql set search_path from current as $$
declare
  next_version bigint;
begin
  update export_state
  set version = greatest(version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
  returning version into next_version;
  if organization_ids is null then
    update organization_versions set version = next_version;
  else
    insert into organization_versions (organization_id, version)
    select unnest(organization_ids), next_version
    on conflict (organization_id) do update set version = excluded.version;
  end if;
end
$$;

-- Whatever writes the read model advances the version, once a statement and in its own transaction. It is the
-- update of export_state that makes writers commit in the order of their versions.
create function export_records_changed() returns trigger
language plpgsql set search_path from current as $$
declare
  organization_ids bigint[];
begin
  if tg_op = 'INSERT' then
    select array_agg(distinct organization_id) into organization_ids from new_rows;
  elsif tg_op = 'DELETE' then
    select array_agg(distinct organization_id) into organization_ids from old_rows;
  elsif tg_op = 'UPDATE' then
    select array_agg(organization_id) into organization_ids
    from (select organization_id from new_rows union select organization_id from old_rows) as changed;
  end if;
  -- Only TRUNCATE leaves it open whose records changed; a statement that changed none is no change.
  if organization_ids is not null or tg_op = 'TRUNCATE' then
    perform advance_version(organization_ids);
  end if;
  return null;
end
$$;

create trigger export_records_inserted after insert on export_records
  referencing new table as new_rows for each statement execute function export_records_changed();
create trigger export_records_updated after update on export_records
  referencing old table as old_rows new table as new_rows for each statement execute function export_records_changed();
create trigger export_records_deleted after delete on export_records
  referencing old table as old_rows for each statement execute function export_records_changed();
create trigger export_records_truncated after truncate on export_records
  for each statement execute function export_records_changed();

-- As in 0002, less the version, which is now the triggers' above.
create or replace function refresh_export_records(ids bigint[]) returns void
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
begin
  if coalesce(cardinality(ids), 0) = 0 then
    return;
  end if;
  perform lock_export();

  delete from export_records r
  where r.id = any (ids)
    and not exists (
      select from assessments a join assessment_parts p on p.assessment_id = a.id where a.id = r.id
    );

  insert into export_records as r
  select v.* from export_records_rendered v where v.id = any (ids)
  on conflict (id) do update set
    (organization_id, product_id, user_id, seid, record_status, legacy_record, proctor_ids, certified_on,
     user_name_key, proctor_name_key, product_name_key, search_text, document) =
    (excluded.organization_id, excluded.product_id, excluded.user_id, excluded.seid,
     excluded.record_status, excluded.legacy_record, excluded.proctor_ids, excluded.certified_on,
     excluded.user_name_key, excluded.proctor_name_key, excluded.product_name_key, excluded.search_text,
     excluded.document)
  where (r.*) is distinct from (excluded.*);
end
$$;

create or replace function assessments_truncated() returns trigger
language plpgsql set search_path from current as $$
begin
  perform lock_export();
  delete from export_records;
  return null;
end
$$;

-- The organizations that there are get the version that there is.
select advance_version(array(select distinct organization_id from export_records));

-- Names a scope: equal for equal sets in equal order, and for no others. A server works from the scope that it
-- remembers, and by the digest that comes back beside the page it knows in the same trip that this is still
-- the scope; comparing two sets of hundreds of ids would take longer than the page. Immutable as far as a
-- bigint is: to the server, an array's output function is not.
create function scope_digest(organization_ids bigint[], product_ids bigint[]) returns text
language sql immutable strict parallel safe
return encode(sha256(convert_to(organization_ids::text || product_ids::text, 'UTF8')), 'hex');

alter table integrations add column scope_digest text not null
  generated always as (scope_digest(organization_ids, product_ids)) stored;

-- A secret is good until the end of its grace, and a token for its own time, as long as the integration is not
-- disabled. Said once, here, for the statements that issue a token and for all that ask who presents one.
-- With the privileges of whoever asks: the role that serves has them (axport migrate --grant), and no other.
create view live_secrets with (security_invoker = true) as
select
  s.id, s.digest, i.client_id, i.organization_ids, i.product_ids, i.scope_digest
from integrations i
join integration_secrets s on s.integration_id = i.id
where (s.expires_at is null or s.expires_at > now()) and i.disabled_at is null;

create view live_tokens with (security_invoker = true) as
select
  t.digest, t.secret_id, s.client_id, s.organization_ids, s.product_ids, s.scope_digest
from access_tokens t
join live_secrets s on s.id = t.secret_id
where t.expires_at > now();

-- The live token with this digest. Three tables take 0.16 ms to plan and 0.01 ms to read; in a function Postgres
-- plans them once a connection. The connections of the service ask for a new plan each time, for the sake of
-- the pages.
create function live_token(digest bytea) returns setof live_tokens
language plpgsql stable rows 1 set search_path from current set plan_cache_mode = force_generic_plan as $$
begin
  return query select t.* from live_tokens t where t.digest = live_token.digest;
end
$$;
