-- Educators and observers alike. A person who has left is archived, not deleted: the records stay.
select
  person_no as id,
  given || ' ' || family as name,
  given as first_name,
  family as last_name,
  mail as email,
  state_id as seid,
  case when left_on is null then 'active' else 'archived' end as record_status
from people
where changed_at >= current_setting('axport.since')::timestamptz;
