-- What operators watch: when a backup was last made and last rehearsed.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- It is not in export_state, because that row is the lock of all writers, for which a backup would wait.
--   succeeded_at  of a backup, when its snapshot was taken; of a rehearsal, when it ended; by the clock of the database
create table jobs (
  name text primary key constraint jobs_name_is_known check (name in ('backup', 'rehearsal')),
  succeeded_at timestamptz not null
);

-- With the rights of the owner: a role that makes backups writes no table. Two jobs may end in another order than they
-- began.
create function note_job(job text, at timestamptz) returns void
language sql security definer set search_path from current as $$
  insert into jobs (name, succeeded_at) values (job, at)
  on conflict (name) do update set succeeded_at = greatest(jobs.succeeded_at, excluded.succeeded_at)
$$;
revoke execute on function note_job(text, timestamptz) from public;
