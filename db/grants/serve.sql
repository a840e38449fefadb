-- What the role of `axport serve` may do: exactly this, and nothing else that it was granted in this schema.
--
-- It reads the export and the scopes of integrations. It writes tokens, and when a secret was last used. It can neither
-- read nor change the source tables and the disclosures. The functions run with the rights of their owner.
--
-- `axport migrate --grant axport_serve` applies this file. So does psql, as the owner of the tables:
--   psql -d axport -v role=axport_serve -f db/grants/serve.sql
-- with -v schema=NAME if the tables are in another schema than public. Apply it again after every upgrade.

\set ON_ERROR_STOP on
\if :{?schema} \else \set schema public \endif
begin;
set local search_path to :"schema";

-- A privilege on a column goes with those on its table. What the role has through PUBLIC or as a member of another role
-- stays.
revoke all on all tables in schema :"schema" from :"role";
revoke all on all sequences in schema :"schema" from :"role";
revoke all on all routines in schema :"schema" from :"role";
revoke all on schema :"schema" from :"role";
revoke all on database :"DBNAME" from :"role";

grant connect on database :"DBNAME" to :"role";
grant usage on schema :"schema" to :"role";

-- The export.
grant select on schema_migrations, export_state, export_version, export_counts to :"role";
grant select on export_records, export_people, export_products to :"role";

-- Who may read what of it. A secret is there as its digest alone.
grant select on integrations, integration_secrets, live_secrets to :"role";
grant update (last_used_at) on integration_secrets to :"role";

-- Tokens, as digests, too. An insert that is sent again writes created_at as it is, and so returns the row.
grant select on live_tokens to :"role";
grant select, insert, delete, update (created_at) on access_tokens to :"role";

-- Whether disclosures are recorded, to record one, and to delete those that are kept long enough.
grant select on disclosure_state to :"role";
grant execute on function record_disclosure(uuid, text, inet, text, bigint[], bigint[], text[]) to :"role";
grant execute on function purge_disclosures() to :"role";

-- Metrics.
grant select on feeds, removals, last_backup to :"role";

-- Where row level security would hide rows from this role, Postgres is to fail the statement. axport asks for that on its
-- connections, but a pooler does not pass that on, and so the role has it as a setting. Postgres lets a superuser set it,
-- the role itself, and with createrole some others.
set local axport.role = :'role';
do $$ begin
  execute format('alter role %I in database %I set row_security = off', current_setting('axport.role'), current_database());
exception when insufficient_privilege then
  raise notice 'behind a pooler, a superuser has to run: alter role % set row_security = off', current_setting('axport.role');
end $$;

commit;
