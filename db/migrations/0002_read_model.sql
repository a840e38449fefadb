-- The read model: one row an assessment, ready to send. A request reads nothing else.
--
-- Five joins and a second query for the parts cost about twelve times as much a page as reading finished
-- documents (900 against 10,700 pages a second by pgbench on 1,000,000 assessments), and an export is
-- read far more often than its data changes. So the join is done once, at writing.
--
-- A view renders a record; 0004 has the triggers that keep the rows as the view renders them.

create extension if not exists pg_trgm with schema public;

-- One row for the whole database.
--   time_zone  the platform's; it decides on which calendar day an instant falls (spec 4.2, rule 3). A
--              property of the data and not of a process: two servers cannot disagree about it.
--   last_import_at  when axport import last loaded all that it was given; null before the first one.
-- The row is also the lock behind which writers queue, see lock_export().
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
--   *_key        lower-cased by the Unicode root rules and then compared by code point: the same order on
--                every server, whatever its locale. lower() alone follows the database's locale, and in a
--                C database leaves "É" as it is.
--   certified_on a date, so that the date filters are plain comparisons: whole days and days of 23 or 25
--                hours need no further thought.
--   proctor_ids  of all parts, in their order; proctor_name_key is the first part's.
--   document     the record as it is sent, keys in the order of spec 2.1, compact.
create table export_records (
  id bigint primary key,
  organization_id bigint not null,
  product_id bigint not null,
  user_id bigint not null,
  seid text,
  is_archived boolean not null,
  legacy_record boolean not null,
  proctor_ids bigint[] not null,
  certified_on date not null,
  user_name_key text collate "C" not null,
  proctor_name_key text collate "C" not null,
  product_name_key text collate "C" not null,
  document text not null
);

-- A page is chosen from an index alone and only then are its documents read: the sort key and the id give the order, the
-- included columns answer the scope. The first four serve a broad scope, the other four a scope of few organizations.
-- The first also holds what the other filters look at, save for seids and proctors: whatever else is counted, that
-- index alone is read, and by several processes. With the documents beside it a count takes three times as long.
create index export_records_certified_on
  on export_records (certified_on, id) include (organization_id, product_id, user_id, is_archived, legacy_record);
create index export_records_user_name
  on export_records (user_name_key, id) include (organization_id, product_id);
create index export_records_proctor_name
  on export_records (proctor_name_key, id) include (organization_id, product_id);
create index export_records_product_name
  on export_records (product_name_key, id) include (organization_id, product_id);
create index export_records_organization_certified_on
  on export_records (organization_id, certified_on, id) include (product_id);
create index export_records_organization_user_name
  on export_records (organization_id, user_name_key, id) include (product_id);
create index export_records_organization_proctor_name
  on export_records (organization_id, proctor_name_key, id) include (product_id);
create index export_records_organization_product_name
  on export_records (organization_id, product_name_key, id) include (product_id);

-- For the filters that pick few records out of all. The records of some people are counted, and put in the order
-- of the default sort, from their index alone: a search finds people first.
create index export_records_user_id
  on export_records (user_id) include (organization_id, product_id, certified_on, id);
create index export_records_seid on export_records (seid) where seid is not null;
create index export_records_proctor_ids on export_records using gin (proctor_ids);

-- How search folds case, for names and for the needle. As the sort keys, and the Greek final sigma beside
-- the other one: a needle that ends in it may stand in the middle of a name.
create function search_folded(text) returns text
language sql immutable strict parallel safe
return translate(lower($1 collate "und-x-icu"), 'ς', 'σ') collate "C";

-- What search looks at (spec 4.2), once a person and not once a record: an eighth of the index, and a table that is
-- read whole in 25 ms for a needle without a trigram. names_key is first and last name, search_folded(), a line each. No
-- needle can hold a line break: one LIKE finds it in either, and '%first%\n%last%\n%' in both, but none across.
create table export_people (
  user_id bigint primary key,
  names_key text collate "C" not null
);
create index export_people_names_key on export_people using gin (names_key gin_trgm_ops);

create table export_products (
  product_id bigint primary key,
  name_key text collate "C" not null
);

create view export_people_rendered as
select
  id as user_id,
  search_folded(
    translate(first_name, E'\n', ' ') || E'\n' || translate(last_name, E'\n', ' ') || E'\n'
  ) collate "C" as names_key
from users;

create view export_products_rendered as
select id as product_id, search_folded(translate(name, E'\n', ' ')) collate "C" as name_key from products;

-- The last instants of 9999 are a day of the year 10000 in the zones of the east, and the first ones of year 1 lie
-- before it in those of the west: neither prints as YYYY-MM-DD, so a day is kept within these years.
--
-- Renders every assessment that has a part (spec 2.1: results is always populated), with the columns of export_records.
-- row_to_json and not json_build_object, which puts a space around every colon: 15 % more bytes a page. The parts are
-- put in order once, by their index, and not by each aggregate, which took a quarter of the rendering.
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
    ('[' || string_agg(row_to_json(result)::text, ',') || ']')::json as results
  from (
    select part.proctor_id, proctor.name as proctor_name, result
    from assessment_parts part
    join users proctor on proctor.id = part.proctor_id
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
) as parts;

-- Each function keeps a path of its own (set search_path from current): the schema of these tables, by name. Under
-- "$user" a function would look in a schema of whoever writes, and find a table there that has the name of one
-- of ours. Temporary tables come last: left out, they would come first. The migrations after this one do the same.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Writers of the read model queue here until the one before has committed. Without it, two writers that touch one
-- record through different tables (one renames its user, the other its organization) would each render it from a
-- snapshot that misses the other's change. Behind the lock each statement takes a new snapshot (READ COMMITTED). It is
-- an update and not a mere lock, so that under REPEATABLE READ, where the snapshot stays that of the beginning, a writer
-- fails with a serialization error whenever another one has committed since. Readers never wait.
-- Once a transaction, not once a savepoint: ten thousand versions of the row would have to be skipped (4.8 s for the
-- users of one transaction, against 0.2). The local setting lives exactly as long as the lock: to the end of the
-- transaction, or until the savepoint behind which it was taken is rolled back to.
create function lock_export() returns void
language plpgsql set search_path from current as $$
begin
  if current_setting('axport.queued', true) is distinct from pg_current_xact_id()::text then
    update export_state set singleton = singleton;
    perform set_config('axport.queued', pg_current_xact_id()::text, true);
  end if;
end
$$;
