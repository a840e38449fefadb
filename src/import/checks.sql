-- The checks that every import makes of the ids of parts; see checks.ts.

-- A part's id against the assessments that will be there. One of the two must be new.
(
  select p.file, p.line, p.id, format('part %s has the id of an assessment', p.id)
  from changed_assessments c
  join import_assessment_parts p on p.assessment_id = c.id
  join assessments t on t.id = p.id
  where p.id <> p.assessment_id
    and not exists (select from import_assessments i where i.id = p.id and i.deleted)
  union
  select p.file, p.line, p.id, format('part %s has the id of an assessment', p.id)
  from changed_assessments c
  join import_assessment_parts p on p.id = c.id
  -- Compared with the part's own id, which is the same: a part that stands for its assessment is left out of the join.
  where c.is_new and p.assessment_id <> p.id
)
union all
-- An assessment's id against the parts that stay in the database.
select a.file, a.line, a.id, format('assessment %s has the id of a part of assessment %s', a.id, t.assessment_id)
from changed_assessments c
join import_assessments a on a.id = c.id
join staying_parts t on t.id = a.id and t.assessment_id <> a.id
union all
-- A part's id against the parts of other assessments that stay in the database.
select p.file, p.line, p.id, format('part %s is also a part of assessment %s', p.id, t.assessment_id)
from changed_assessments c
join import_assessment_parts p on p.assessment_id = c.id
join staying_parts t on t.id = p.id and t.assessment_id <> p.assessment_id
