-- What operators watch: when a backup was last made and last rehearsed, and how far each feed has come.
-- Services of the schemas before read none of this.
-- compatible-with: 5

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A table of its own: the row of export_state is the lock of all writers, for which a backup would wait.
--   succeeded_at  of a backup, when its snapshot was taken; of a rehearsal, when it ended. By the clock of the database.
create table jobs (
  name text primary key constraint jobs_name_is_known check (name in ('backup', 'rehearsal')),
  succeeded_at timestamptz not null
);

-- A role that makes backups reads tables and writes none. Two jobs may end in another order than they began.
create function note_job(job text, at timestamptz) returns void
language sql security definer set search_path from current as $$
  insert into jobs (name, succeeded_at) values (job, at)
  on conflict (name) do update set succeeded_at = greatest(jobs.succeeded_at, excluded.succeeded_at)
$$;
revoke execute on function note_job(text, timestamptz) from public;

-- When a full comparison (import --sync) of the feed was last loaded; null before the first one.
alter table feeds add column compared_at timestamptz;

-- The state of the feeds for roles without a privilege on feed_rejects, which has personal data.
create view feed_states as
select name as feed, snapshot_at, succeeded_at, compared_at,
  (select count(*) from feed_rejects r where r.feed = f.name) as waiting
from feeds f;
