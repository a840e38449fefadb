import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf } from '../import/csv-files.ts'
import { QUERIES } from './platform-example.ts'

/** The folder of the example's queries with some of them replaced; undefined removes one. */
export function queriesWith(others: Record<string, string | undefined>): string {
  const files = readdirSync(QUERIES).map(name => [name, readFileSync(join(QUERIES, name), 'utf8')])
  const all = Object.entries({ ...Object.fromEntries(files), ...others })
  return folderOf(Object.fromEntries(all.filter(([, text]) => text !== undefined)) as Record<string, string>)
}

/** A query for users with all columns. @param rest what follows "from people" */
export const usersQuery = (rest = '', { id = 'person_no', name = 'given', email = 'mail' } = {}) =>
  `select ${id} as id, ${name} as name, given as first_name, family as last_name, ${email} as email,
    state_id as seid, 'active' as record_status from people ${rest}`
