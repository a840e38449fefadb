-- A district that was removed stays as an organization: its observations are still there.
select district_no as id, title as name
from districts
where changed_at >= current_setting('axport.since')::timestamptz;
