-- A name that says what the function does: it logs that anything may have changed.
-- Programs of older schemas call it by its former name.
-- compatible-with: 5

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A row without a delta and without an organization stands for any change in all organizations (0003). Every service then
-- counts anew. Only for roles that load: it slows down all services.
create function log_any_change() returns void
language plpgsql security definer set search_path from current as $$
begin
  perform lock_export();
  insert into export_changes default values;
end
$$;
revoke execute on function log_any_change() from public;

-- The former name, until no older program is left.
create or replace function forget_export_facts() returns void
language sql security definer set search_path from current as $$
  select log_any_change()
$$;
