-- A made-up platform: other names than those of axport, an enum, soft deletes, and observations in several stages.
-- Each table has changed_at, which a trigger sets to the time of the writing statement. No row is ever deleted.

create type stage_state as enum ('planned', 'under_way', 'complete');

create table districts (
  district_no bigint primary key,
  title text not null,
  removed_at timestamptz,
  changed_at timestamptz not null default clock_timestamp()
);

create table rubrics (
  rubric_no bigint primary key,
  label text not null,
  removed_at timestamptz,
  changed_at timestamptz not null default clock_timestamp()
);

create table people (
  person_no bigint primary key,
  given text not null,
  family text not null,
  mail text,
  state_id text,
  left_on date,
  changed_at timestamptz not null default clock_timestamp()
);

create table observations (
  observation_no bigint primary key,
  district_no bigint not null references districts,
  rubric_no bigint not null references rubrics,
  teacher_no bigint not null references people,
  state stage_state not null default 'planned',
  finished_at timestamptz,
  from_old_system boolean not null default false,
  removed_at timestamptz,
  changed_at timestamptz not null default clock_timestamp()
);

-- An observation has one stage or several, each seen by somebody. One sequence numbers both tables, so that the number
-- of a stage is never that of an observation.
create table stages (
  stage_no bigint primary key,
  observation_no bigint not null references observations,
  rank integer not null,
  label text not null,
  observer_no bigint not null references people,
  seen_at timestamptz not null,
  removed_at timestamptz,
  changed_at timestamptz not null default clock_timestamp()
);

-- By these a round finds what has changed. Without them it reads whole tables.
create index on districts (changed_at);
create index on rubrics (changed_at);
create index on people (changed_at);
create index on observations (changed_at);
create index on stages (changed_at);
create index on stages (observation_no);

create function stamp() returns trigger language plpgsql as $$
begin
  new.changed_at := clock_timestamp();
  return new;
end
$$;
create trigger stamp before update on districts for each row execute function stamp();
create trigger stamp before update on rubrics for each row execute function stamp();
create trigger stamp before update on people for each row execute function stamp();
create trigger stamp before update on observations for each row execute function stamp();
create trigger stamp before update on stages for each row execute function stamp();
