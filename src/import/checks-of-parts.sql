-- Checks of sources in which parts arrive apart from their assessment; see checks.ts.

select p.file, p.line, p.id, format('assessment_id: assessment %s is deleted by @%s:%s', p.assessment_id, i.file, i.line)
from import_assessments i
join import_assessment_parts p on p.assessment_id = i.id
where i.deleted and p.apart
union all
select own.file, own.line, own.id, 'proctor_id and parts are both given: each part names its own proctor'
from import_assessment_parts own
where own.id = own.assessment_id
  and exists (select from import_assessment_parts p where p.assessment_id = own.id and (p.file, p.line) <> (own.file, own.line))
union all
select r.file, r.line, r.id, format('no part of assessment %s is left: list those that it keeps, or delete it', r.assessment_id)
from import_removed_parts r
where not exists (select from import_assessment_parts p where p.assessment_id = r.assessment_id)
  and not exists (select from import_assessments a where a.id = r.assessment_id and a.deleted)
