import { afterAll } from 'bun:test'
import type { Sql } from 'postgres'
import { grantFor, SERVE } from '../../src/database/grants.ts'
import { cleanUp } from '../support/executable.ts'
import { use } from '../support/hooks.ts'
import { openWorld, succeed } from '../support/operator.ts'
import { expectPrivileges } from '../support/privileges.ts'
import { type Role, useRoles } from '../support/roles.ts'

/** All privileges of a role that serves. */
export const SERVE_PRIVILEGES = [
  'delete access_tokens',
  'execute purge_disclosures()',
  'execute record_disclosure(uuid,text,inet,text,bigint[],bigint[],text[])',
  'insert access_tokens',
  'select access_tokens',
  'select disclosure_state',
  'select export_counts',
  'select export_people',
  'select export_products',
  'select export_records',
  'select export_state',
  'select export_version',
  'select feeds',
  'select integration_secrets',
  'select integrations',
  'select last_backup',
  'select live_secrets',
  'select live_tokens',
  'select removals',
  'select schema_migrations',
  'update access_tokens.created_at',
  'update integration_secrets.last_used_at',
]

/** A database that holds WORLD, and roles that get the grants for serve in it, for the tests of one file. */
export function useServeGrants() {
  afterAll(cleanUp)
  const database = use(openWorld)
  const newRole = useRoles()
  return {
    database,
    newRole,
    migrateGrant: (name: string, url = database.url, ...more: string[]) =>
      succeed(url, 'migrate', '--grant', name, ...more),
    /** Why the grant of `axport migrate --grant` is refused to a role. */
    refusalOf: (name: string, grantor: Sql = database.sql) =>
      grantFor(grantor, name, SERVE).then(
        () => 'it was granted',
        (error: Error) => error.message,
      ),
    expectAllowed: (role: Role) => expectPrivileges(database.sql, role.name, 'serve.sql', SERVE_PRIVILEGES),
  }
}
