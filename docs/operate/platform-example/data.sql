-- A few hundred rows; more with PGOPTIONS='-c example.observations=100000' before psql.

do $$
declare
  observations integer := coalesce(nullif(current_setting('example.observations', true), ''), '200');
begin
  perform set_config('example.observations', observations::text, false);
  perform set_config('example.people', greatest(40, observations / 5)::text, false);
end
$$;

insert into districts (district_no, title)
select n, 'District ' || n from generate_series(1, 5) as n;

insert into rubrics (rubric_no, label) values (1, 'Reading Observation'), (2, 'Classroom Practice');

insert into people (person_no, given, family, mail, state_id)
select n, 'Given' || n, 'Family' || n, 'person' || n || '@example.org', lpad(n::text, 10, '0')
from generate_series(1, current_setting('example.people')::integer) as n;

insert into observations (observation_no, district_no, rubric_no, teacher_no, state, finished_at)
select 10 * n, n % 5 + 1, n % 2 + 1, n % (current_setting('example.people')::integer - 10) + 1,
  case when n % 10 = 0 then 'under_way' else 'complete' end::stage_state,
  case when n % 10 <> 0 then timestamptz '2026-03-01 15:00Z' + n % 2000 * interval '7 hours' end
from generate_series(1, current_setting('example.observations')::integer) as n;

-- Reading Observation is seen once, Classroom Practice in two stages.
insert into stages (stage_no, observation_no, rank, label, observer_no, seen_at)
select 10 * n + s, 10 * n, s, 'Visit ' || s, current_setting('example.people')::integer - 9 + (n + s) % 10,
  timestamptz '2026-03-01 15:00Z' + n % 2000 * interval '7 hours' - (2 - s) * interval '1 day'
from generate_series(1, current_setting('example.observations')::integer) as n, generate_series(1, n % 2 + 1) as s;
