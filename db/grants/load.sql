-- What the role of `axport import` and `axport refresh` may do: exactly this, and nothing else that it was granted
-- in this schema.
--
-- It writes the source tables and, through their triggers, the export. It cannot read integrations, secrets, tokens and
-- disclosures.
--
-- `axport migrate --grant-loader axport_load` applies this file. So does psql, as the owner of the tables:
--   psql -d axport -v role=axport_load -f db/grants/load.sql
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

-- A load reads its lines into temporary tables.
grant connect, temporary on database :"DBNAME" to :"role";
grant usage on schema :"schema" to :"role";

grant select, insert, update, delete on organizations, products, users, assessments, assessment_parts to :"role";

-- The export, which triggers with the rights of this role write, and what it is rendered from.
grant select, insert, update, delete on export_records, export_people, export_products to :"role";
grant select on export_records_rendered, export_people_rendered, export_products_rendered to :"role";
grant select on schema_migrations, export_counts to :"role";
grant select, update on export_state to :"role";
grant execute on function refresh_export_counts(bigint[]) to :"role";
grant execute on function renew_export_version() to :"role";

-- Statistics of the tables that a load has changed.
grant execute on function analyze_table(text) to :"role";

-- Erased people, who are left out.
grant select on erasures to :"role";

-- How far a feed is.
grant select, insert, update on feeds to :"role";

-- How much loads have removed.
grant select, update on removals to :"role";

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
