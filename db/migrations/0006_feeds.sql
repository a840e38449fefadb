-- Feeds: what was read of a platform's own database, so that the next round reads what has changed since.
-- Only imports look here. Services of the schema before can serve and provision.
-- compatible-with: 5

-- A row is written in the transaction of the import that loads what it speaks of: there is no round that was loaded
-- and not noted, and none that was noted and not loaded, however a process or a server ends.
--   platform      which database was read: the system identifier of its cluster and its name. The same behind another
--                 address, on a standby and after a switchover; with another one nothing is known, and all is read.
--   snapshot_at   when the snapshot that was read began, by the platform's clock. The next round asks for what was
--                 stamped since then, less an overlap.
--   queries       SHA-256 of the text of each query, by the name of its file. With another text a query may give rows
--                 that have not changed since, and all is read.
--   succeeded_at  when the round was written, by the clock of this server.
create table feeds (
  name text primary key
    constraint feeds_name_is_word check (name ~ '^[A-Za-z0-9_.-]{1,63}$'),
  platform text not null,
  snapshot_at timestamptz not null,
  queries jsonb not null,
  succeeded_at timestamptz not null default clock_timestamp()
);
