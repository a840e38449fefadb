import checksOfIds from './checks.sql' with { type: 'text' }
import checksOfParts from './checks-of-parts.sql' with { type: 'text' }
import checksOfSharedParts from './checks-of-shared-parts.sql' with { type: 'text' }
import { type ImportSource, TABLE_OF, type Type } from './source-rows.ts'
import type { Staged } from './stage.ts'

/** The query for file, line, id and reason of staged rows that contradict each other or the database. */
export function problems(source: ImportSource, { unordered }: Staged, isAllOrNothing: boolean): string {
  const { hasPartsApart, types, feed } = source
  const partsFile = `assessment_parts.${feed ? 'sql' : 'csv'}`
  const checks = [
    reference(isAllOrNothing, 'assessment', 'user_id', 'user'),
    reference(isAllOrNothing, 'assessment', 'organization_id', 'organization'),
    reference(isAllOrNothing, 'assessment', 'product_id', 'product'),
    reference(isAllOrNothing, 'part', 'proctor_id', 'user'),
    deletion('organization'),
    deletion('product'),
    deletion('user', 'union all select t.proctor_id, t.assessment_id from staying_parts t'),
    checksOfIds,
  ]
  // Ids that only rise do not repeat. The check takes 4 s for 1,000,000 assessments.
  if (unordered.has('part')) checks.push(checksOfSharedParts)
  const partsComeAlong = feed !== undefined && types.includes('assessment')
  if (hasPartsApart)
    checks.push(
      withoutParts(isAllOrNothing, partsFile),
      partOfUnknown(isAllOrNothing, partsComeAlong),
      checksOfParts,
    )
  // The parts of the database whose assessments are neither deleted nor get other parts.
  return `
    with staying_parts as not materialized (
      select t.* from assessment_parts t
      where not exists (select from import_assessment_parts p where p.assessment_id = t.assessment_id)
        and not exists (select from import_assessments a where a.id = t.assessment_id and a.deleted)
    )
    ${checks.join('\nunion all\n')}`
}

/** An import of all or nothing loads nothing when a row is bad: references to that row are not reported beside it. */
const isNotBad = (isAllOrNothing: boolean, type: string, id: string) =>
  isAllOrNothing
    ? `and not exists (select from import_rejects r where r.type = '${type}' and r.id = ${id})`
    : ''

/**
 * A `column` must refer to a row of `type` that is there after the load. An unchanged row refers to a stored one: so the
 * first half reads changed rows, and the second deleted ones. The ids of file and database are one subquery, which reads
 * the whole table once (0.6 s for 1,000,000 users). For two, Postgres 15 may expect no row after the first, and read the
 * other table once for each row (15 minutes for 140,000 parts of ten proctors).
 */
function reference(isAllOrNothing: boolean, from: 'assessment' | 'part', column: string, type: Type): string {
  const referring = `import_${TABLE_OF[from]}`
  const table = TABLE_OF[type]
  return `
    select f.file, f.line, f.id, format('${column}: ${type} %s is neither in the file nor in the database', f.${column})
    from changed_assessments c
    join ${referring} f on f.${from === 'part' ? 'assessment_id' : 'id'} = c.id
    where not exists (
        select from (select id from import_${table} union all select id from ${table}) as known
        where known.id = f.${column}
      )
      ${isNotBad(isAllOrNothing, type, `f.${column}`)}
    union all
    select f.file, f.line, f.id,
      format('${column}: ${type} %s is deleted by @%s:%s (delete this, too, or ${keep(type)})', i.id, i.file, i.line)
    from import_${table} i
    join ${referring} f on f.${column} = i.id
    where i.deleted and not coalesce(f.deleted, false)`
}

/** What to do instead of deleting a row that is needed. */
const keep = (type: Type) => (type === 'user' ? 'archive the user' : `keep the ${type}`)

/** A deleted row of `type` must not be needed by an assessment of the database that keeps its own columns. */
const deletion = (type: Type, others = '') => `
  select i.file, i.line, i.id,
    format('${type} %s cannot be deleted: assessment %s needs it (delete that, too, or ${keep(type)})', i.id, min(n.assessment_id))
  from import_${TABLE_OF[type]} i
  join (
    select t.${type}_id as needed_id, t.id as assessment_id from assessments t
    where not exists (select from import_assessments a where a.id = t.id)
    ${others}
  ) as n on n.needed_id = i.id
  where i.deleted
  group by i.file, i.line, i.id`

/** Where parts arrive apart, an assessment has a proctor of its own or gets parts from the same source. */
const withoutParts = (isAllOrNothing: boolean, partsFile: string) => `
  select a.file, a.line, a.id, 'proctor_id is missing, and there is no part in ${partsFile}'
  from import_assessments a
  where not a.deleted
    and not exists (select from import_assessment_parts p where p.assessment_id = a.id)
    ${isAllOrNothing ? 'and not exists (select from import_rejects r where r.assessment_id = a.id)' : ''}`

/** A part that arrives apart must have an assessment. If all parts `comeAlong`, they replace all that are stored. */
const partOfUnknown = (isAllOrNothing: boolean, comeAlong: boolean) => `
  select p.file, p.line, p.id, format('assessment_id: assessment %s ${
    comeAlong
      ? 'is not given by assessments.sql, with which all of its parts have to come'
      : 'is neither in the file nor in the database'
  }', p.assessment_id)
  from import_assessment_parts p
  where p.apart
    and not exists (select from import_assessments i where i.id = p.assessment_id)
    ${comeAlong ? '' : 'and not exists (select from assessments t where t.id = p.assessment_id)'}
    ${isNotBad(isAllOrNothing, 'assessment', 'p.assessment_id')}`
