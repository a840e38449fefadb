-- Feeds: what was read of a platform's own database, so that the next round reads what has changed since.
--
-- A row is written in the transaction of the import that it describes. So no round is loaded without its row, and none has
-- a row without being loaded, however a process or a server ends.
--   platform      which database was read: the system identifier of its cluster and its name. It is the same at another
--                 address, on a standby and after a switchover. If it is another one, all is read.
--   snapshot_at   when the snapshot that was read began, by the platform's clock. The next round asks for what was
--                 stamped since then, less an overlap.
--   queries       SHA-256 of the text of each query, by the name of its file. A query with another text may give rows that
--                 have not changed since, so all is read.
--   succeeded_at  when the round was written, by the clock of this server
--   compared_at   when a full comparison (import --sync) was last loaded; null before the first one
create table feeds (
  name text primary key
    constraint feeds_name_is_word check (name ~ '^[A-Za-z0-9_.-]{1,63}$'),
  platform text not null,
  snapshot_at timestamptz not null,
  queries jsonb not null,
  succeeded_at timestamptz not null default clock_timestamp(),
  compared_at timestamptz
);

-- Rows that a feed has left out with --rejects, and that wait. Each round stages them beside the rows that have changed. A
-- changed row for the same id replaces the waiting one. A row that can be loaded leaves the table, in the transaction that
-- loads it. Without the table a feed would have to read from the same time again until the row is corrected.
-- Rows that refer to a bad row are left out because of it, and wait, too. A row from which neither its id nor its
-- assessment can be read has no place here, because nothing would replace it: the feed reads from the same time again.
--   type           as in files: user, assessment, part …
--   assessment_id  the assessment that is loaded with this row or not at all
--   user_id        the educator of an assessment, as far as it can be read; erasing the person deletes the row
--   columns        the columns of the query when the row was read; '' for one without a meaning
--   line           the row as CSV, in the form of a JSON string
--   since          when the row was left out; a row that is read again is a new one
-- The table has personal data. The role that serves has no privilege on it.
create table feed_rejects (
  no bigint generated always as identity primary key,
  feed text not null,
  type text not null,
  id bigint,
  assessment_id bigint,
  user_id bigint,
  columns text[] not null,
  line text not null,
  since timestamptz not null default clock_timestamp(),
  constraint feed_rejects_can_be_replaced check (coalesce(id, assessment_id) is not null)
);
create index feed_rejects_feed on feed_rejects (feed);

-- The state of the feeds for roles without a privilege on feed_rejects.
create view feed_states as
select name as feed, snapshot_at, succeeded_at, compared_at,
  (select count(*) from feed_rejects r where r.feed = f.name) as waiting
from feeds f;
