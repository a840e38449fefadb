-- All stages of the observations that assessments.sql gives, and of no others: an observation of which one stage has
-- changed comes with all of them. A stage that was removed is not given, and so the import removes it.
with changed as (
  select observation_no from observations where changed_at >= current_setting('axport.since')::timestamptz
  union
  select observation_no from stages where changed_at >= current_setting('axport.since')::timestamptz
),
several as (
  select observation_no
  from changed join stages using (observation_no)
  where removed_at is null
  group by observation_no
  having count(*) > 1
)
select
  s.observation_no as assessment_id,
  s.stage_no as id,
  s.label as name,
  s.seen_at as certified_at,
  s.observer_no as proctor_id,
  s.rank as position
from several
join observations o using (observation_no)
join stages s using (observation_no)
where s.removed_at is null and o.state = 'complete' and o.removed_at is null;
