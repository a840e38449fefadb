-- The export: one row for each assessment, ready to send. A request reads nothing else.
--
-- Five joins and a second query for the parts cost about twelve times as much for each page as reading finished documents
-- (900 against 10,700 pages a second by pgbench on 1,000,000 assessments), and an export is read far more often than its
-- data change. So the join is made once, when the data are written. Views render the rows; the triggers of 0006 keep the
-- tables as the views render them.

create extension if not exists pg_trgm with schema public;

-- One row for the database.
--   time_zone       the platform's. It decides on which day an instant falls (spec 4.2, rule 3). It is stored with the data,
--                   so that two servers cannot disagree about it.
--   last_import_at  when axport import last committed, also if it left lines out (--rejects); null before the first time
-- The row is also the lock of all writers; see lock_export().
create table export_state (
  singleton boolean primary key default true
    constraint export_state_one_row check (singleton),
  time_zone text not null default 'UTC',
  last_import_at timestamptz
);
insert into export_state default values;
-- Never analyzed, a table is taken for a thousand rows, and every plan that joins it for a thousand times dearer.
analyze export_state;

-- Every filter and sort key of the list request is a plain column.
--   *_key         in lower case by the Unicode root rules, and compared by code point: the same order on every server,
--                 whatever its locale. lower() alone follows the locale of the database, and leaves "É" as it is in C.
--   certified_on  a date, so that the date filters are plain comparisons, also for days of 23 or 25 hours
--   proctor_ids   of all parts, in their order; proctor_name_key is that of the first part
--   document      the record as it is sent: the keys in the order of spec 2.1, compact
create table export_records (
  id bigint primary key,
  organization_id bigint not null,
  product_id bigint not null,
  user_id bigint not null,
  seid text collate "C",
  is_archived boolean not null,
  legacy_record boolean not null,
  proctor_ids bigint[] not null,
  certified_on date not null,
  user_name_key text collate "C" not null,
  proctor_name_key text collate "C" not null,
  product_name_key text collate "C" not null,
  document text not null
);

-- db/README.md has each index with what it is for, and with its measurements.
--
-- Long lists are walked along the index of their sort. A page is chosen from that index alone, and then its documents are
-- read: the sort key and the id give the order, the included columns answer the scope. The first one also has what the other
-- filters look at, except seids and proctors, so that counts read this index alone. Reading the documents for a count
-- takes three times as long.
create index export_records_certified_on
  on export_records (certified_on, id) include (organization_id, product_id, user_id, is_archived, legacy_record);
create index export_records_user_name
  on export_records (user_name_key, id) include (organization_id, product_id);
create index export_records_proctor_name
  on export_records (proctor_name_key, id) include (organization_id, product_id);
create index export_records_product_name
  on export_records (product_name_key, id) include (organization_id, product_id);

-- Short lists are found by an index of what leaves few records, and sorted. Those of some organizations are sorted from the index
-- alone, by any key. Its second key counts the records of a scope from a day on, without those of other organizations. The
-- records of some people are counted, and sorted by default, from their index alone: a search finds people first.
create index export_records_organization_id
  on export_records (organization_id, certified_on)
  include (product_id, user_id, id, user_name_key, proctor_name_key, product_name_key);
create index export_records_product_id on export_records (product_id);
create index export_records_user_id
  on export_records (user_id) include (organization_id, product_id, certified_on, id);
create index export_records_seid on export_records (seid) where seid is not null;
create index export_records_proctor_ids on export_records using gin (proctor_ids);

-- How search folds case, in names and in what is searched for: as the sort keys, and both Greek sigmas as one, because a
-- final sigma at the end of the searched text may be in the middle of a name.
create function search_folded(text) returns text
language sql immutable strict parallel safe
return translate(lower($1 collate "und-x-icu"), 'ς', 'σ') collate "C";

-- What search looks at (spec 4.2), once for each person instead of each record: the index has an eighth of the size, and
-- a text too short for a trigram is found by reading the whole table in 25 ms. names_key has the first and the last name, a
-- line each. No searched text has a line break, so one LIKE finds it in either name and never across both.
create table export_people (
  user_id bigint primary key,
  names_key text collate "C" not null
);
create index export_people_names_key on export_people using gin (names_key gin_trgm_ops);

create table export_products (
  product_id bigint primary key,
  name_key text collate "C" not null
);

-- Whether a person is erased is asked as "exists … is false", because Postgres takes longer to plan an anti-join than to
-- update a single row. Of many rows it then compares each with a hash of all erasures.
create view export_people_rendered as
select
  id as user_id,
  search_folded(
    translate(first_name, E'\n', ' ') || E'\n' || translate(last_name, E'\n', ' ') || E'\n'
  ) collate "C" as names_key
from users u
where (exists (select from erasures e where e.user_id = u.id)) is false;

create view export_products_rendered as
select id as product_id, search_folded(translate(name, E'\n', ' ')) collate "C" as name_key from products;

-- Renders every assessment that has a part (spec 2.1: results is always populated), with the columns of export_records.
-- * The last instants of 9999 fall into the year 10000 in eastern zones, and the first ones of the year 1 fall before it in
--   western ones. Neither prints as YYYY-MM-DD, so a day is kept within these years.
-- * row_to_json and array_to_json, because json_build_object puts spaces around colons (15 % more bytes a page), and json_agg
--   puts line breaks between parts.
-- * The parts are sorted once, by their index. Sorting them for each aggregate took a quarter of the time.
-- * The limit leaves Postgres nothing but a look-up for each proctor. In the transaction of a first load assessment_parts
--   have no statistics; Postgres then prefers a hash join, which reads all people for each assessment.
create view export_records_rendered as
select
  a.id,
  a.organization_id,
  a.product_id,
  a.user_id,
  u.seid,
  u.record_status = 'archived' as is_archived,
  a.legacy_record,
  parts.proctor_ids,
  day.certified_on,
  lower(u.name collate "und-x-icu") collate "C" as user_name_key,
  lower(parts.first_proctor_name collate "und-x-icu") collate "C" as proctor_name_key,
  lower(p.name collate "und-x-icu") collate "C" as product_name_key,
  (
    select row_to_json(record)::text
    from (
      select
        a.id as id,
        u.seid as seid,
        u.name as name,
        u.first_name as first_name,
        u.last_name as last_name,
        u.email as email,
        a.organization_id as organization_id,
        o.name as organization_name,
        p.name as assessment_name,
        day.certified_on as certified_on,
        parts.results as results
    ) as record
  ) as document
from export_state s
cross join assessments a
join users u on u.id = a.user_id
join organizations o on o.id = a.organization_id
join products p on p.id = a.product_id
cross join lateral (
  select least(greatest((a.certified_at at time zone s.time_zone)::date, '0001-01-01'), '9999-12-31') as certified_on
) as day
cross join lateral (
  select
    array_agg(proctor_id) as proctor_ids,
    (array_agg(proctor_name))[1] as first_proctor_name,
    array_to_json(array_agg(result)) as results
  from (
    select part.proctor_id, proctor.name as proctor_name, result
    from assessment_parts part
    cross join lateral (
      select coalesce((select (erased_person(e.user_id)).name from erasures e where e.user_id = u.id), u.name) as name
      from users u where u.id = part.proctor_id limit 1
    ) as proctor
    cross join lateral (
      select
        part.id as assessment_id,
        coalesce(part.name, p.name) as assessment_name,
        least(
          greatest((coalesce(part.certified_at, a.certified_at) at time zone s.time_zone)::date, '0001-01-01'),
          '9999-12-31'
        ) as certified_on,
        part.proctor_id as proctor_id,
        proctor.name as proctor_name
    ) as result
    where part.assessment_id = a.id
    order by part.position
  ) as ordered
  having count(*) > 0
) as parts
where (exists (select from erasures e where e.user_id = a.user_id)) is false;

-- Each function has this search_path of its own (set search_path from current): the schema of these tables, by name. With
-- "$user" a function would look into a schema of whoever writes, and could find a table of the same name there. pg_temp is
-- last, because a path without it searches temporary tables first.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The records of a range of assessments, for a load that renders all of them. Postgres gives no part of the view to a
-- parallel worker, because of its lateral subqueries. It does give one a call of a function that is parallel safe, if the call
-- costs enough. The cost is that of rendering 50,000 records, in units of cpu_operator_cost.
create function export_records_between(after_id bigint, last_id bigint) returns setof export_records
language plpgsql stable parallel safe cost 400000000 rows 50000
set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
begin
  return query select v.* from export_records_rendered v where v.id > after_id and v.id <= last_id;
end
$$;

-- Writers of the export wait here until the writer before them has committed. Without the lock, two writers that change
-- one record through different tables (its user's name, its organization's name) would each render it from a snapshot
-- without the other's change. Behind the lock each statement takes a new snapshot (READ COMMITTED). Readers never wait.
-- * It is an update, so that a writer in REPEATABLE READ, whose snapshot is older, fails with a serialization error if
--   another writer has committed since.
-- * It is made once for each transaction, not for each savepoint: ten thousand versions of the row take 4.8 s to skip. The
--   local setting lives as long as the lock: to the end of the transaction, or until a savepoint before it is rolled
--   back to.
create function lock_export() returns void
language plpgsql set search_path from current as $$
begin
  if current_setting('axport.queued', true) is distinct from pg_current_xact_id()::text then
    update export_state set singleton = singleton;
    perform set_config('axport.queued', pg_current_xact_id()::text, true);
  end if;
end
$$;
