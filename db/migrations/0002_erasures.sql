-- Erasures: people who were erased, and must not come back with the next load.
--
-- A bare id is all that is left of a person, and all that is needed to recognize the person. Three places know of it: the
-- views of 0003 render no record of an erased educator, and name an erased proctor "Erased person"; a load drops what its
-- source has about erased people; and remove_people() removes what SQL has written about them.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The row does not refer to users: usually there is no such row any more.
create table erasures (
  user_id bigint primary key,
  erased_at timestamptz not null default clock_timestamp(),
  role text not null default session_user
);

-- A person who proctored assessments of others stays in them under this name, because their parts refer to somebody.
create function erased_person(id bigint) returns users
language sql immutable parallel safe
return row($1, 'Erased person', '', '', '', null, 'active')::users;

-- Takes erased people out of the source tables. Called by erase, by refresh and by each load before it compares: SQL may
-- have written them again. Parts go before their assessments, so that each record is rendered once. Rows that already say that
-- somebody was erased stay as they are.
-- If it changed a row, the export gets another version, also where only documents change, as for the proctor of a later part: a
-- standby that has not replayed the erasure is then passed over within ten seconds. Otherwise the version stays, so that the
-- rounds of a feed do not make every server count its lists again.
--   people_found  how many of them had anything to remove
create function remove_people(
  people bigint[],
  out people_found bigint,
  out assessments_removed bigint,
  out parts_removed bigint,
  out users_renamed bigint,
  out users_removed bigint
)
language plpgsql set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  educators bigint[];
  renamed bigint[];
  removed bigint[];
begin
  perform lock_export();
  educators := array(select distinct a.user_id from assessments a where a.user_id = any (people));
  delete from assessment_parts p using assessments a where a.id = p.assessment_id and a.user_id = any (educators);
  get diagnostics parts_removed = row_count;
  delete from assessments a where a.user_id = any (educators);
  get diagnostics assessments_removed = row_count;

  with changed as (
    update users u
    set (name, first_name, last_name, email, seid, record_status) =
      (select e.name, e.first_name, e.last_name, e.email, e.seid, e.record_status from erased_person(u.id) e)
    where u.id = any (people) and u is distinct from erased_person(u.id)
      and exists (select from assessment_parts p where p.proctor_id = u.id)
    returning u.id
  )
  select coalesce(array_agg(id), '{}') into renamed from changed;
  with gone as (
    delete from users u
    where u.id = any (people) and not exists (select from assessment_parts p where p.proctor_id = u.id)
    returning u.id, u is distinct from erased_person(u.id) as had_a_name
  )
  select coalesce(array_agg(id) filter (where had_a_name), '{}'), count(*) into removed, users_removed from gone;

  if parts_removed + assessments_removed + cardinality(renamed) + users_removed > 0 then
    perform renew_export_version();
  end if;
  users_renamed := cardinality(renamed);
  people_found := (select count(distinct id) from unnest(educators || renamed || removed) as id);
end
$$;
