-- The log of changes begins anew where a row says that anything may have changed.
-- Programs of older schemas find the same row, and count anew as before.
-- compatible-with: 5

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- As in 0015, and deletes the earlier rows. Nobody needs them: whatever was remembered before this row is counted anew. They
-- have names, and among these may be those of an erased person, as after axport refresh has deleted a record that somebody
-- had written past the triggers.
create or replace function log_any_change() returns void
language plpgsql security definer set search_path from current as $$
declare
  anew bigint;
begin
  perform lock_export();
  insert into export_changes default values returning position into anew;
  delete from export_changes where position < anew;
end
$$;

-- What 0019 and the programs before it have left of erased people.
select log_any_change() where exists (select from erasures);
