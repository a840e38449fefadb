-- The platform writes a line of NDJSON into this table, in the transaction that changes the data.
create table outbox (
  no bigint generated always as identity primary key,
  line jsonb not null,
  taken boolean not null default false
);
