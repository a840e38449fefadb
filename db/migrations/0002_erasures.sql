-- Erasures: people who were erased, and must not come back with the next load.
--
-- A bare id is all that is left of a person, and all that is needed to recognize the person. Loads leave such rows out.
-- Other SQL gets an error from the triggers below. What is written past the triggers (by logical replication, or with
-- session_replication_role = replica) stays in the source tables until axport refresh or axport erase removes it, and is
-- not exported: the views of 0003 leave it out. Triggers that always fire would have to fail there, which stops a
-- subscription, or to drop rows, after which the copy is incomplete.

-- The functions of this file search this schema only; see 0003.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The row does not refer to users: usually there is no such row any more.
--   assessment_ids  the assessments of which the person was the educator, as far as they are known. A line of a load may
--                   name an assessment and not its educator, as in a file of parts: these ids say whose it is.
create table erasures (
  user_id bigint primary key,
  erased_at timestamptz not null default clock_timestamp(),
  role text not null default session_user,
  assessment_ids bigint[] not null default '{}'
);

-- A person who proctored assessments of others stays in them under this name, because their parts refer to somebody.
create function erased_person(id bigint) returns users
language sql immutable parallel safe
return row($1, 'Erased person', '', '', '', null, 'active')::users;

-- Takes people who have tombstones out of the source tables. Parts go before their assessments, so that each record is
-- rendered once. Rows that already say that somebody was erased stay as they are.
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
  update erasures e
  set assessment_ids = array(select unnest(e.assessment_ids) union select unnest(theirs.ids) order by 1)
  from (
    select a.user_id, array_agg(a.id) as ids from assessments a where a.user_id = any (educators) group by 1
  ) as theirs
  where theirs.user_id = e.user_id;

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

  users_renamed := cardinality(renamed);
  people_found := (select count(distinct id) from unnest(educators || renamed || removed) as id);
end
$$;

-- Refuses SQL that would bring back an erased person, with a name or with assessments. It is an error, because the next
-- statement would miss rows that vanished in silence, as the assessment of a part. Without tombstones it costs a statement
-- one look into an empty table. It has the rights of its owner: a writer needs none on the tombstones.
create function refuse_erased() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  erased bigint;
begin
  if not exists (select from erasures) then
    return null;
  end if;
  if tg_table_name = 'users' then
    select e.user_id into erased
    from new_rows n join erasures e on e.user_id = n.id
    where row(n.*)::users is distinct from erased_person(n.id)
    limit 1;
  else
    select e.user_id into erased from new_rows n join erasures e using (user_id) limit 1;
  end if;
  if found then
    raise check_violation using
      message = format(
        'user %s was erased: leave out whose user_id is in the table erasures, or lift it by axport erase %1$s --remove-tombstone',
        erased
      ),
      constraint = 'erasures_are_kept';
  end if;
  return null;
end
$$;
revoke execute on function refuse_erased() from public;

create trigger users_erased_inserted after insert on users
  referencing new table as new_rows for each statement execute function refuse_erased();
create trigger users_erased_updated after update on users
  referencing new table as new_rows for each statement execute function refuse_erased();
create trigger assessments_erased_inserted after insert on assessments
  referencing new table as new_rows for each statement execute function refuse_erased();
create trigger assessments_erased_updated after update on assessments
  referencing new table as new_rows for each statement execute function refuse_erased();
