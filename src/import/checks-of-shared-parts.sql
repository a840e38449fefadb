-- The check for ids of parts that two assessments of the source have; see checks.ts. It joins the parts of
-- all changed assessments with all parts of the source.

-- Of two in the file, the one of the later assessment is bad. An assessment without parts counts as its own part, which few
-- expect.
select distinct
  later.file,
  later.line,
  p.id,
  case
    when p.id in (p.assessment_id, other.assessment_id) then
      format('assessment %s has no parts and counts as its own part, and a part of assessment %s has that id',
        p.id, coalesce(nullif(p.assessment_id, p.id), other.assessment_id))
    else format('part %s is also a part of assessment %s', p.id, least(p.assessment_id, other.assessment_id))
  end
from changed_assessments c
join import_assessment_parts p on p.assessment_id = c.id
join import_assessment_parts other on other.id = p.id and other.assessment_id <> p.assessment_id
cross join lateral (
  select p.file, p.line where p.assessment_id > other.assessment_id
  union all
  select other.file, other.line where p.assessment_id < other.assessment_id
) as later
