-- Source tables: the platform's data, normalized, as `axport import` or an operator's own SQL writes it.
--
-- Ids are the platform's own, so nothing here generates them. They are bigint because a platform that
-- outgrows integer should not have to migrate an export service.
--
-- Lengths are capped at 500 characters because every name ends up in a B-tree sort key of the read model
-- and a B-tree entry may not exceed about 2,700 bytes: without the cap one absurd name would fail deep
-- inside an index, with it the reason is a named constraint. Blank is spelled out, because what a regular
-- expression takes for white space differs from server to server.

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

-- Educators and proctors are both people of the platform and share one id space (spec 2.2: proctor_id is
-- a "platform user ID"). A proctor needs no more than a name, so the finer fields may be empty; they are
-- never null, because the spec types them as strings. Only seid may be null: "never recorded" (spec 2.1).
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
  seid text
    constraint users_seid_not_blank check (btrim(seid, E' \t\r\n') <> '')
    constraint users_seid_length check (char_length(seid) <= 500),
  record_status text not null default 'active'
    constraint users_record_status_known check (record_status in ('active', 'archived'))
);

-- certified_at is an instant; which calendar day it is depends on the platform's time zone and is decided
-- by the read model. The bounds let in every day of the years 1 to 9999, in whatever zone, and keep out 'infinity';
-- the read model sees to it that each prints as YYYY-MM-DD (spec 2.1).
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

-- The foreign keys' own look-ups (deleting a user must not read every assessment), and the way from a
-- renamed user, organization or product to the records that show the name.
create index assessments_user_id on assessments (user_id);
create index assessments_organization_id on assessments (organization_id);
create index assessments_product_id on assessments (product_id);

-- An assessment is exported when it has a part. One without separate parts has exactly one, with the
-- assessment's own id: it describes the assessment itself (spec 2.2), so its name and date are the
-- assessment's and are not written down a second time. A separate part has an id, name and date of its own.
-- The reference to the assessment is deferrable for the sake of loading: parts that arrive before their
-- assessments are rendered once, with them, and not twice.
-- That a part's id is never the id of another assessment is enforced in 0004, where all writers queue.
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
  -- Deferrable, so that one statement may exchange two positions.
  constraint assessment_parts_order unique (assessment_id, position) deferrable initially immediate
);

create index assessment_parts_proctor_id on assessment_parts (proctor_id);
