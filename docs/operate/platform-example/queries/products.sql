select rubric_no as id, label as name
from rubrics
where changed_at >= current_setting('axport.since')::timestamptz;
