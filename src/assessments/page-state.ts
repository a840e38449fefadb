import { type SQL, sql } from 'drizzle-orm'
import { exportVersion } from '../../db/schema.ts'
import { rowOf } from '../database/statement.ts'
import { ACCESS } from './access.ts'
import { recording } from './disclosure.ts'
import { GIVEN } from './scope.ts'

/** The state in which a page is read: the scope, the version of the export, and whether disclosures are recorded. */

/**
 * The row of the live token, with the version of the export, and whether disclosures are recorded. The copies of the sets
 * are decompressed once, and not for each record.
 */
const TOKEN = sql`(
  select client_id, scope_digest, organization_ids, product_ids,
    organization_ids || '{}' as organizations, product_ids || '{}' as products,
    (select ${exportVersion.version} from ${exportVersion}) as version,
    ${recording} as recording
  from live_tokens where digest = ${sql.placeholder('token')}::bytea offset 0
) as token`

/** The same at a standby, for a scope that the primary has read: access and recording are values, the version is its own. */
const SCOPE = sql`(
  select ${sql.placeholder('client')}::text as client_id, ${sql.placeholder('scopeDigest')}::text as scope_digest,
    ${GIVEN.organizations} as organization_ids, ${GIVEN.products} as product_ids,
    ${GIVEN.organizations} as organizations, ${GIVEN.products} as products,
    (select ${exportVersion.version} from ${exportVersion}) as version,
    ${sql.placeholder('recording')}::boolean as recording
  offset 0
) as token`

/** The columns of the state, which each statement of a list returns. */
export const STATE = { ...ACCESS, version: sql`token.version`, recording: sql`token.recording` }
/** Whether it has the scope that the request has read. */
export const hasScope = sql`token.scope_digest = ${sql.placeholder('scopeDigest')}`

/** What gives the scope: the live token, or at a standby the values that the primary has read. */
export type Source = 'token' | 'scope'

export const SOURCES: Record<Source, SQL> = { token: TOKEN, scope: SCOPE }

/** What the primary says before a page is read at a standby. */
export const STATE_ROW = rowOf(STATE)
export const STATE_SQL = sql`
select ${STATE_ROW.list}
from ${TOKEN}`
