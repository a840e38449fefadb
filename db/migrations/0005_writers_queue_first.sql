-- Writers of the source tables queue before they touch a row.
--
-- Until now a writer queued behind lock_export() when its statement was done, and so with row locks in its
-- hands: one that held a user and waited for the queue, and one that stood at its head and wanted that user,
-- were a deadlock, and one of them failed. Behind the queue from the first statement on, a writer holds
-- nothing that the head of the queue could want. That includes writers whose rows are in no record yet, as a
-- new user: another one may be adding the same id.
--
-- Statement-level, so one call a statement, and the deletes of a cascade make one call for all of them. It
-- costs a transaction about 20 µs. Who has queued already is not asked of the row, as lock_export() does: there
-- each savepoint counts as a writer of its own, and ten thousand of them leave ten thousand versions to skip
-- (4.8 s for the users of one transaction, against 0.2). The local setting lives exactly as long as the lock:
-- to the end of the transaction, or until the savepoint behind which it was taken is rolled back to.
--
-- What can still deadlock is what locks before any trigger runs: explicit locks (select … for update, lock
-- table), and TRUNCATE, which locks its whole table.

-- As in 0002: the function keeps this path, with temporary tables last.
select set_config('search_path', current_setting('search_path') || ', pg_temp', true);

create function queue_for_export() returns trigger
language plpgsql set search_path from current as $$
begin
  if current_setting('axport.queued', true) is distinct from pg_current_xact_id()::text then
    perform lock_export();
    perform set_config('axport.queued', pg_current_xact_id()::text, true);
  end if;
  return null;
end
$$;

create trigger organizations_queue before insert or update or delete or truncate on organizations
  for each statement execute function queue_for_export();
create trigger products_queue before insert or update or delete or truncate on products
  for each statement execute function queue_for_export();
create trigger users_queue before insert or update or delete or truncate on users
  for each statement execute function queue_for_export();
create trigger assessments_queue before insert or update or delete or truncate on assessments
  for each statement execute function queue_for_export();
create trigger assessment_parts_queue before insert or update or delete or truncate on assessment_parts
  for each statement execute function queue_for_export();
