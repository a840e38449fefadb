-- Feeds: what was read of a platform's own database, so that the next round reads what has changed since. Below them, what
-- operators are told of loads and of backups.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A row is written in the transaction of the import that it describes. So no round is loaded without its row, and none has
-- a row without being loaded, however a process or a server ends.
--   platform      which database was read: the system identifier of its cluster and its name. It is the same at another
--                 address, on a standby and after a switchover. If it is another one, all is read.
--   snapshot_at   when the snapshot began of the last round that left nothing out, by the platform's clock. The next round
--                 asks for what was stamped since then, less 15 minutes. So a row that was left out is read again until it
--                 can be loaded, and no row has to be kept here, where it would be personal data. Before the first such
--                 round it is -infinity, and all is read.
--   queries       SHA-256 of the text of each query, by the name of its file. A query with another text may give rows that
--                 have not changed since, so all is read.
--   query_files   the files of all queries that the feed has ever read, also in a round that left rows out. A round without one
--                 of them fails: a comparison would find nothing that was removed of its type.
--   succeeded_at  when the round was written, by the clock of this server
--   left_out      how many rows the last round left out (--rejects)
--   compared_at   when a full comparison (import --sync) of every type that the feed reads was last loaded; null before the
--                 first one
create table feeds (
  name text collate "C" primary key
    constraint feeds_name_is_word check (name ~ '^[A-Za-z0-9_.-]{1,63}$'),
  platform text not null,
  snapshot_at timestamptz not null,
  queries jsonb not null,
  query_files text[] not null default '{}',
  succeeded_at timestamptz not null default clock_timestamp(),
  left_out integer not null default 0,
  compared_at timestamptz
);

-- How many rows of each source table loads have removed. A load refuses to remove too many rows at once. Removals that
-- each stay below that limit can still add up, which an alert notices by these counts.
--   removed     by all loads together; it only grows
--   remaining   how many rows the table had after the last load that removed some
create table removals (
  table_name text collate "C" primary key,
  removed bigint not null default 0,
  remaining bigint not null default 0
);
insert into removals (table_name)
values ('organizations'), ('products'), ('users'), ('assessments'), ('assessment_parts');
-- Never analyzed, a table is taken for a thousand rows.
analyze removals;

-- When a backup of this database last ended well, by the clock of this server. There is no row before the first one. axport
-- makes no backups: whatever makes one calls the procedure in its end, by psql. So an alert can tell that none was made.
create table last_backup (
  singleton boolean primary key default true
    constraint last_backup_one_row check (singleton),
  ended_at timestamptz not null
);

-- Every role that may read all data can make a backup, and therefore may say that it has made one.
create procedure note_backup()
language sql security definer set search_path from current as $$
  insert into last_backup (ended_at) values (clock_timestamp())
  on conflict (singleton) do update set ended_at = excluded.ended_at
$$;
revoke execute on procedure note_backup() from public;
grant execute on procedure note_backup() to pg_read_all_data;
