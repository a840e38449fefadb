import type { Sql } from 'postgres'
import { backUp } from '../../src/backup/backup.ts'
import { BackupFile } from '../../src/backup/backup-file.ts'
import { checkArchive } from '../../src/backup/read.ts'
import { restore } from '../../src/backup/restore.ts'
import { KEPT } from '../../src/backup/tables.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import type { Interruption } from '../../src/interruption.ts'
import { setTimeZone } from '../../src/postgres/schema/time-zone.ts'
import { assessment, educator, multiPart, organization, part, proctor, product } from '../support/fixtures.ts'
import { load } from '../support/service.ts'

/** Names with characters that are special in some text format, and the earliest and latest times. */
const LINES = [
  organization(10, 'Lakeside "District", {Ü} \\N'),
  organization(11, "O'Hara, NULL"),
  organization(12, 'Nobody is here'),
  product(1, 'NULL'),
  product(2, 'Wri\tting\nObservation'),
  educator(501, { name: 'Ana \u{1f393} Ruiz', first_name: 'Ana', last_name: '', seid: null, email: '' }),
  educator(502, { record_status: 'archived', seid: '{1,2}' }),
  proctor(77, '  Pat\u00a0Proctor'),
  assessment(9001, { certified_at: '2026-03-08T07:30:00.123456Z' }),
  assessment(9002, { organization_id: 11, user_id: 502, legacy_record: true }),
  assessment(9003, { certified_at: '0001-01-01T00:00:00Z' }),
  multiPart(9100, [part(9101, { name: 'Part, "1"' }), part(9102, { proctor_id: 502 })], { product_id: 2 }),
]

/** The credentials of the integrations in a world, by their state. */
export interface Integrations {
  wide: { clientId: string; clientSecret: string }
  narrow: { clientId: string; clientSecret: string }
  disabled: { clientId: string; clientSecret: string }
}

/** Fills an empty database with data, integrations in several states, and a time zone. */
export async function fill(sql: Sql): Promise<Integrations> {
  await setTimeZone(sql, 'America/New_York')
  await load(sql, LINES)
  // Rows that an import never writes, but an operator's own SQL may.
  await sql`update users set name = E'line\nbreak' where id = 502`
  const wide = await createIntegration(sql, 'Wide "open"', 'all', 'all')
  const narrow = await createIntegration(sql, 'Narrow', ['11', '12'], ['1'])
  const disabled = await createIntegration(sql, 'Disabled', ['10'], [])
  await sql`update integrations set disabled_at = now() where client_id = ${disabled.clientId}`
  await sql`
    insert into integration_secrets (integration_id, digest, expires_at, last_used_at)
    select id, sha256('old'), now() + interval '1 day', now() from integrations`
  return { wide, narrow, disabled }
}

/** Everything that a backup must restore, as text. */
export async function contents(sql: Sql): Promise<unknown> {
  const tables: Record<string, unknown> = {}
  for (const table of [
    ...KEPT.map(({ table }) => table),
    'export_records',
    'export_people',
    'export_products',
  ]) {
    const rows = await sql<{ row: string }[]>`select (t.*)::text as row from ${sql(table)} t order by 1`
    tables[table] = rows.map(({ row }) => row)
  }
  const [state] = await sql`select time_zone, last_import_at::text from export_state`
  return { tables, state }
}

/** Writes a backup to a file, and waits for `before` before each piece. */
export async function backUpTo(path: string, sql: Sql, before = async () => {}): Promise<void> {
  const file = new BackupFile(path)
  const write = async (bytes: Uint8Array) => {
    await before()
    file.write(bytes)
  }
  await backUp(sql, '0.0.0', write, () => {})
  await file.keep()
}

/**
 * Restores a file, and interrupts it when all rows are loaded. Returns the number of erased people left
 * out.
 */
export async function restoreFrom(path: string, sql: Sql, interruption?: Interruption): Promise<number> {
  return await restore(sql, path, await checkArchive(path), {
    onProgress: progress => {
      if (progress.phase === 'loading' && progress.done === progress.total) interruption?.request()
    },
  })
}
