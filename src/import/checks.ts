import type { TransactionSql } from 'postgres'

/** A line that can not be loaded, and why. */
export interface Problem {
  line: number
  reason: string
}

/**
 * What is wrong with the staged lines when they are seen together and beside the database: references to
 * nothing, deletions of what is still needed, ids used twice. The first `limit` by line, and how many in all.
 */
export async function findProblems(
  sql: TransactionSql,
  limit: number,
): Promise<{ problems: Problem[]; total: number }> {
  const rows = await sql.unsafe<{ line: string; reason: string; total: string }[]>(
    `select line, reason, count(*) over () as total from (${CHECKS.join('\nunion all\n')}) as problems
     order by line, reason limit $1`,
    [limit],
  )
  return {
    problems: rows.map(({ line, reason }) => ({ line: Number(line), reason })),
    total: Number(rows[0]?.total ?? 0),
  }
}

/** `column` of `from` must name something that will be there when the file has been loaded. */
function reference(from: string, column: string, what: string, staged: string, table: string): string {
  return `
    select f.line, case
      when i.deleted then format('${column}: ${what} %s is deleted by line %s', f.${column}, i.line)
      else format('${column}: ${what} %s is neither in the file nor in the database', f.${column})
    end as reason
    from ${from} f
    left join ${staged} i on i.id = f.${column}
    left join ${table} t on t.id = f.${column}
    where f.${column} is not null and coalesce(i.deleted, t.id is null)`
}

/** Something that is deleted must not be needed by an assessment which this file does not mention. */
function deletion(staged: string, what: string, needing: string): string {
  return `
    select i.line, format('${what} %s can not be deleted: assessment %s needs it', i.id, min(n.assessment_id)) as reason
    from ${staged} i
    join (${needing}) as n on n.needed_id = i.id
    where i.deleted and not exists (select from import_assessments a where a.id = n.assessment_id)
    group by i.line, i.id`
}

const CHECKS = [
  reference('import_assessments', 'user_id', 'user', 'import_users', 'users'),
  reference('import_assessments', 'organization_id', 'organization', 'import_organizations', 'organizations'),
  reference('import_assessments', 'product_id', 'product', 'import_products', 'products'),
  reference('import_parts', 'proctor_id', 'user', 'import_users', 'users'),

  deletion(
    'import_organizations',
    'organization',
    'select organization_id as needed_id, id as assessment_id from assessments',
  ),
  deletion(
    'import_products',
    'product',
    'select product_id as needed_id, id as assessment_id from assessments',
  ),
  deletion(
    'import_users',
    'user',
    `select user_id as needed_id, id as assessment_id from assessments
     union all select proctor_id, assessment_id from assessment_parts`,
  ),

  // A part's id against the assessments that will be there.
  `
    select p.line, format('part %s has the id of an assessment', p.id) as reason
    from import_parts p
    left join import_assessments i on i.id = p.id
    left join assessments t on t.id = p.id
    where p.id <> p.assessment_id and not coalesce(i.deleted, t.id is null)`,

  // An assessment's id against the parts that stay in the database.
  `
    select a.line, format('assessment %s has the id of a part of assessment %s', a.id, t.assessment_id) as reason
    from import_assessments a
    join assessment_parts t on t.id = a.id and t.assessment_id <> a.id
    where not a.deleted and not exists (select from import_assessments i where i.id = t.assessment_id)`,

  // A part's id against the parts of other assessments, in the file and in the database.
  `
    select p.line, format('part %s is also a part of assessment %s', p.id, other.assessment_id) as reason
    from import_parts p
    join import_parts other on other.id = p.id and other.assessment_id < p.assessment_id`,
  `
    select p.line, format('part %s is also a part of assessment %s', p.id, t.assessment_id) as reason
    from import_parts p
    join assessment_parts t on t.id = p.id and t.assessment_id <> p.assessment_id
    where not exists (select from import_assessments i where i.id = t.assessment_id)`,
]
