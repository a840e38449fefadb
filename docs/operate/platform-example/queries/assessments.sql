-- An observation that is not complete, or was removed, is not exported; one that was exported is removed.
-- An observation has changed when its row has, or the row of one of its stages. An observation that is seen once has
-- no parts: its observer is its proctor.
with changed as (
  select observation_no from observations where changed_at >= current_setting('axport.since')::timestamptz
  union
  select observation_no from stages where changed_at >= current_setting('axport.since')::timestamptz
),
seen as (
  select observation_no, count(*) as stages, min(observer_no) as observer_no
  from changed join stages using (observation_no)
  where removed_at is null
  group by observation_no
)
select
  o.observation_no as id,
  o.teacher_no as user_id,
  o.district_no as organization_id,
  o.rubric_no as product_id,
  o.finished_at as certified_at,
  o.from_old_system as legacy_record,
  case when s.stages = 1 then s.observer_no end as proctor_id,
  o.state <> 'complete' or o.removed_at is not null or s.stages is null as deleted
from changed
join observations o using (observation_no)
left join seen s using (observation_no);
