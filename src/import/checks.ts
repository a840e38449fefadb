import { SYNC_PLACE } from './place.ts'

/** What the checks have to know of the import. */
export interface Checking {
  hasPartsApart: boolean
  /** The source holds all parts: an assessment has to come with its own. */
  needsParts: boolean
  /** Parts come with their assessment, and not for one that is stored: they would replace all that it has. */
  partsComeAlong: boolean
  /** Nothing is loaded when any record is bad: then what needs a bad one is no fault of its own. */
  isWhole: boolean
}

/**
 * The query for what is wrong with the staged rows when they are seen together and beside the database: references to
 * nothing, deletions of what is still needed, ids used twice. Its columns are line, reason and other_line, the place of
 * another record that completes the reason.
 */
export function problems({ hasPartsApart, needsParts, partsComeAlong, isWhole }: Checking): string {
  const checks = [...references(isWhole), ...CHECKS, withoutParts(hasPartsApart, needsParts)]
  if (hasPartsApart) checks.push(...checksOfPartsApart(isWhole, partsComeAlong))
  return checks.join('\nunion all\n')
}

const references = (isWhole: boolean) => [
  reference(isWhole, 'import_assessments', 'user_id', 'user', 'import_users', 'users'),
  reference(
    isWhole,
    'import_assessments',
    'organization_id',
    'organization',
    'import_organizations',
    'organizations',
  ),
  reference(isWhole, 'import_assessments', 'product_id', 'product', 'import_products', 'products'),
  reference(isWhole, 'import_parts', 'proctor_id', 'user', 'import_users', 'users'),
]

/** That `id` is not that of a bad record of the type, where that is enough. */
const isNotBad = (isWhole: boolean, type: string, id: string) =>
  isWhole ? `and not exists (select from import_rejects r where r.type = '${type}' and r.id = ${id})` : ''

/**
 * `column` of `from` must name something that will be there when all has been loaded. What does not change
 * refers to what is there, unless that is deleted: so the first half looks at changes, the second at
 * deletions, and neither at anything where there are none.
 */
function reference(
  isWhole: boolean,
  from: string,
  column: string,
  what: string,
  staged: string,
  table: string,
): string {
  const assessmentId = from === 'import_parts' ? 'assessment_id' : 'id'
  return `
    select f.line, format('${column}: ${what} %s is neither in the file nor in the database', f.${column}) as reason,
      null::bigint as other_line
    from changed_assessments c
    join ${from} f on f.${assessmentId} = c.id
    where not exists (select from ${staged} i where i.id = f.${column})
      and not exists (select from ${table} t where t.id = f.${column})
      ${isNotBad(isWhole, what, `f.${column}`)}
    union all
    select f.line,
      case when i.line >= ${SYNC_PLACE} then format('${column}: ${what} %s is no longer in the source', i.id)
      else format('${column}: ${what} %s is deleted by ', i.id) end,
      case when i.line < ${SYNC_PLACE} then i.line end
    from ${staged} i
    join ${from} f on f.${column} = i.id
    where i.deleted and not coalesce(f.deleted, false)`
}

/** Something that is deleted must not be needed by an assessment that stays as it is. */
function deletion(staged: string, what: string, needing: string): string {
  return `
    select i.line, format('${what} %s cannot be deleted: assessment %s needs it', i.id, min(n.assessment_id)), null
    from ${staged} i
    join (${needing}) as n on n.needed_id = i.id
    where i.deleted
    group by i.line, i.id`
}

/** Assessments of the database whose own columns stay. */
const needingAssessments = (column: string) => `
  select t.${column} as needed_id, t.id as assessment_id from assessments t
  where not exists (select from import_assessments a where a.id = t.id)`

/** The part \`t\` of the database stays: its assessment is neither deleted nor gets other parts. */
const PART_STAYS = `
  not exists (select from import_parts p where p.assessment_id = t.assessment_id)
  and not exists (select from import_assessments a where a.id = t.assessment_id and a.deleted)`

const CHECKS = [
  deletion('import_organizations', 'organization', needingAssessments('organization_id')),
  deletion('import_products', 'product', needingAssessments('product_id')),
  deletion(
    'import_users',
    'user',
    `${needingAssessments('user_id')}
     union all select t.proctor_id, t.assessment_id from assessment_parts t where ${PART_STAYS}`,
  ),

  // A part's id against the assessments that will be there. One of the two must be new.
  `
    select p.line, format('part %s has the id of an assessment', p.id), null
    from changed_assessments c
    join import_parts p on p.assessment_id = c.id
    join assessments t on t.id = p.id
    where p.id <> p.assessment_id
      and not exists (select from import_assessments i where i.id = p.id and i.deleted)
    union
    select p.line, format('part %s has the id of an assessment', p.id), null
    from changed_assessments c
    join import_parts p on p.id = c.id
    where c.is_new and p.assessment_id <> c.id`,

  // An assessment's id against the parts that stay in the database.
  `
    select a.line, format('assessment %s has the id of a part of assessment %s', a.id, t.assessment_id), null
    from changed_assessments c
    join import_assessments a on a.id = c.id
    join assessment_parts t on t.id = a.id and t.assessment_id <> a.id
    where ${PART_STAYS}`,

  // A part's id against the parts of other assessments, in the file and in the database. Of two in the file
  // it is held against the one of the later assessment, whichever of the two has changed.
  `
    select distinct
      case when p.assessment_id > other.assessment_id then p.line else other.line end,
      format('part %s is also a part of assessment %s', p.id, least(p.assessment_id, other.assessment_id)),
      null::bigint
    from changed_assessments c
    join import_parts p on p.assessment_id = c.id
    join import_parts other on other.id = p.id and other.assessment_id <> p.assessment_id`,
  `
    select p.line, format('part %s is also a part of assessment %s', p.id, t.assessment_id), null
    from changed_assessments c
    join import_parts p on p.assessment_id = c.id
    join assessment_parts t on t.id = p.id and t.assessment_id <> p.assessment_id
    where ${PART_STAYS}`,
]

/** A record without parts and without a proctor keeps what is stored, where that is enough and there. */
function withoutParts(hasPartsApart: boolean, needsParts: boolean): string {
  const reason = `proctor_id is missing${hasPartsApart ? ', and there is no part in assessment_parts.csv' : ''}`
  const comesWithout = 'and not exists (select from import_parts p where p.assessment_id = a.id)'
  const keepsNone = `and not exists (
    select from assessment_parts t
    where t.assessment_id = a.id and not (t.id = a.id and coalesce(a.clears_proctor, false))
  )`
  return `
    select a.line, '${reason}', null
    from import_assessments a
    where a.partless ${hasPartsApart ? comesWithout : ''} ${needsParts ? '' : keepsNone}`
}

/** What can only be wrong when parts arrive apart from their assessment. */
const checksOfPartsApart = (isWhole: boolean, partsComeAlong: boolean) => [
  `
    select p.line, format('assessment_id: assessment %s ${
      partsComeAlong
        ? 'is not given by assessments.sql, with which all of its parts have to come'
        : 'is neither in the file nor in the database'
    }', p.assessment_id), null
    from import_parts p
    where p.apart
      and not exists (select from import_assessments i where i.id = p.assessment_id)
      ${partsComeAlong ? '' : 'and not exists (select from assessments t where t.id = p.assessment_id)'}
      ${isNotBad(isWhole, 'assessment', 'p.assessment_id')}`,
  `
    select p.line, format('assessment_id: assessment %s is deleted by ', p.assessment_id), i.line
    from import_assessments i
    join import_parts p on p.assessment_id = i.id
    where i.deleted and p.apart`,
  `
    select own.line, 'proctor_id and parts are both given: each part names its own proctor', null
    from import_parts own
    where own.id = own.assessment_id
      and exists (select from import_parts p where p.assessment_id = own.id and p.line <> own.line)`,
  `
    select r.line, format('no part of assessment %s is left: list those that it keeps, or delete it', r.assessment_id), null
    from import_removed_parts r
    where not exists (select from import_parts p where p.assessment_id = r.assessment_id)
      and not exists (select from import_assessments a where a.id = r.assessment_id and a.deleted)`,
]
