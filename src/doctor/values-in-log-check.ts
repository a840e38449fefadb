import type { Sql } from 'postgres'
import { onlyRow } from '../postgres/statement.ts'
import { type Finding, ok, warning } from './finding.ts'

/**
 * Whether Postgres writes the values of statements into its own log: names that are searched for, seids, unknown client
 * ids, and the rows of imports. The settings are those of this role; another role may have others.
 */
export async function checkValuesInLog(db: Sql): Promise<Finding> {
  const rows = await db<{ causes: string[]; withErrors: boolean; database: string }[]>`
    select
      case when current_setting('log_parameter_max_length') = '0' then '{}' else array_remove(array[
        case when current_setting('log_statement') in ('mod', 'all') then 'log_statement' end,
        case when current_setting('log_min_duration_statement') <> '-1' then 'log_min_duration_statement' end,
        case when current_setting('log_min_duration_sample') <> '-1' then 'log_min_duration_sample' end,
        case when current_setting('log_transaction_sample_rate') <> '0' then 'log_transaction_sample_rate' end
      ], null) end as causes,
      current_setting('log_parameter_max_length_on_error') <> '0' as "withErrors",
      quote_ident(current_database()) as database`
  const { causes, withErrors, database } = onlyRow(rows)
  const toReset = [
    ...(causes.length > 0 ? ['log_parameter_max_length'] : []),
    ...(withErrors ? ['log_parameter_max_length_on_error'] : []),
  ]
  if (toReset.length === 0) return ok('values in the log', 'Postgres writes none')
  const because = [...causes, ...(withErrors ? ['log_parameter_max_length_on_error'] : [])].join(', ')
  const remedy = toReset.map(setting => `alter database ${database} set ${setting} = 0`).join('; ')
  return warning(
    'values in the log',
    `Postgres writes searches, seids and imported rows into its log (${because}). As a superuser: ${remedy}`,
  )
}
