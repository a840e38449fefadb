-- The source tables: the platform's data, normalized. `axport import` writes them, or SQL of the operator.
--
-- The ids are the platform's own, so nothing here generates any. They are bigint, so that a platform that outgrows
-- integer does not have to migrate its export service.
--
-- A name has at most 500 characters, because it becomes a sort key of the export, and an entry of a B-tree holds about
-- 2,700 bytes. Without the limit a long name fails inside an index; with it the error names a constraint. The characters
-- that count as blank are written out, because what a regular expression takes for white space differs between servers.
--
-- A text that an index holds is compared by code point (collate "C"). The locale of a database has an order of its own, which
-- another release of the operating system may change: an index that was built before it would then miss rows.

create table organizations (
  id bigint primary key,
  name text not null
    constraint organizations_name_not_blank check (btrim(name, E' \t\r\n') <> '')
    constraint organizations_name_length check (char_length(name) <= 500)
);

create table products (
  id bigint primary key,
  name text not null
    constraint products_name_not_blank check (btrim(name, E' \t\r\n') <> '')
    constraint products_name_length check (char_length(name) <= 500)
);

-- Educators and proctors are both people of the platform and share one id space (spec 2.2: proctor_id is a "platform
-- user ID"). A proctor needs only a name, so the other texts may be empty. They are never null, because the spec types
-- them as strings. Only seid may be null: "never recorded" (spec 2.1).
create table users (
  id bigint primary key,
  name text not null
    constraint users_name_not_blank check (btrim(name, E' \t\r\n') <> '')
    constraint users_name_length check (char_length(name) <= 500),
  first_name text not null default ''
    constraint users_first_name_length check (char_length(first_name) <= 500),
  last_name text not null default ''
    constraint users_last_name_length check (char_length(last_name) <= 500),
  email text not null default ''
    constraint users_email_length check (char_length(email) <= 500),
  seid text collate "C"
    constraint users_seid_not_blank check (btrim(seid, E' \t\r\n') <> '')
    constraint users_seid_length check (char_length(seid) <= 500),
  record_status text not null default 'active'
    constraint users_record_status_known check (record_status in ('active', 'archived'))
);

-- certified_at is an instant. On which day it falls depends on the platform's time zone (0003). The bounds allow every
-- day of the years 1 to 9999 in every zone, and exclude 'infinity'.
create table assessments (
  id bigint primary key,
  user_id bigint not null references users,
  organization_id bigint not null references organizations,
  product_id bigint not null references products,
  certified_at timestamptz not null
    constraint assessments_certified_at_printable
    check (certified_at >= '0001-12-31 00:00:00+00 BC' and certified_at < '10000-01-02 00:00:00+00'),
  legacy_record boolean not null default false
);

-- For the foreign keys (deleting a user must not read every assessment), and to find the records that show a name that
-- has changed.
create index assessments_user_id on assessments (user_id);
create index assessments_organization_id on assessments (organization_id);
create index assessments_product_id on assessments (product_id);

-- An assessment is exported when it has a part. One without separate parts has exactly one part, with the assessment's own
-- id: it describes the assessment itself (spec 2.2), so its name and date are those of the assessment and are not stored
-- twice. A separate part has an id, a name and a date of its own.
-- The reference to the assessment is deferrable, so that a load can write parts before their assessments and each record
-- is rendered once. That a part never has the id of another assessment is enforced in 0006, behind the queue of writers.
create table assessment_parts (
  id bigint primary key,
  assessment_id bigint not null
    constraint assessment_parts_assessment_id_fkey
    references assessments on delete cascade deferrable initially immediate,
  position integer not null,
  name text
    constraint assessment_parts_name_not_blank check (btrim(name, E' \t\r\n') <> '')
    constraint assessment_parts_name_length check (char_length(name) <= 500),
  certified_at timestamptz
    constraint assessment_parts_certified_at_printable
    check (certified_at >= '0001-12-31 00:00:00+00 BC' and certified_at < '10000-01-02 00:00:00+00'),
  proctor_id bigint not null references users,
  constraint assessment_parts_describe_themselves_or_their_assessment
    check (case when id = assessment_id then name is null and certified_at is null
                else name is not null and certified_at is not null end),
  -- Deferrable, so that one statement can exchange two positions.
  constraint assessment_parts_order unique (assessment_id, position) deferrable initially immediate
);

create index assessment_parts_proctor_id on assessment_parts (proctor_id);
