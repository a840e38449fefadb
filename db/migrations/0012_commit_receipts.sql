-- Receipts: by which a command finds out whether its transaction was committed, when the answer to COMMIT was lost.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The last thing that the transaction of a command writes: the row is there if and only if the transaction was committed.
-- The number of a transaction does not tell that (pg_xact_status): after a crash, Postgres gives a number out again if
-- nothing of the transaction had reached the disk.
--   receipt  random, drawn by the command. The table is too small for an index.
create table commit_receipts (
  no bigint generated always as identity primary key,
  receipt uuid not null
);

-- Writes a receipt, and deletes all but the newest 1,000: a command asks for its own within 30 seconds. By their number
-- and not by their age: a COMMIT may wait for hours for a standby, and clocks are set. A row that another command is
-- deleting is left to it, so that no command waits for the COMMIT of another. With the rights of the owner, so that a role
-- that loads can delete no receipt of others.
create function leave_receipt(receipt uuid) returns void
language sql security definer set search_path from current as $$
  delete from commit_receipts where no in (
    select no from commit_receipts where no <= (select max(no) from commit_receipts) - 1000 for update skip locked
  );
  insert into commit_receipts (receipt) values ($1)
$$;
revoke execute on function leave_receipt(uuid) from public;
