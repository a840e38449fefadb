-- Counts the staged parts by their effect; see changes.ts. Parts of an assessment that does not change are unchanged.
-- While no part is stored, all of them are inserted, and nothing has to be joined.

select inserted, updated, deleted, (select count(*) from import_assessment_parts) + deleted as staged
from (
  select
    count(*) filter (where t.id is null) as inserted,
    count(*) filter (
      where t.id is not null
        and (t.assessment_id, t.position, t.name, t.certified_at, t.proctor_id)
          is distinct from (i.assessment_id, i.position, i.name, i.certified_at, i.proctor_id)
    ) as updated,
    -- Parts that go, and become no part of another assessment.
    (
      select count(*) from import_assessments a
      join assessment_parts t on t.assessment_id = a.id
      where a.deleted and not exists (select from import_assessment_parts p where p.id = t.id)
    ) + (
      select count(*) from changed_assessments c
      join assessment_parts t on t.assessment_id = c.id
      where exists (select from import_assessment_parts p where p.assessment_id = c.id)
        and not exists (select from import_assessment_parts p where p.id = t.id)
    ) as deleted
  from changed_assessments c
  join import_assessment_parts i on i.assessment_id = c.id
  left join assessment_parts t on t.id = i.id
  where exists (select from assessment_parts)
  having exists (select from assessment_parts)
  union all
  select count(*), 0, 0 from import_assessment_parts having not exists (select from assessment_parts)
) as changed
