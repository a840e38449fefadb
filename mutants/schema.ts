import { join } from 'node:path'
import { openDatabase } from '../src/postgres/database.ts'
import { migrate } from '../src/postgres/schema/migrate.ts'
import { MIGRATIONS } from '../src/postgres/schema/migrations.ts'
import { emptyDatabase } from '../test/support/cluster.ts'
import { assessment, multiPart, part, world } from '../test/support/fixtures.ts'
import { load } from '../test/support/service.ts'

/** The error of the migrations in a folder, or of an import after them; undefined if both succeed. */
export async function refusalOf(folder: string): Promise<string | undefined> {
  const read = async ({ name }: { name: string }) => ({
    name,
    sql: await Bun.file(join(folder, `${name}.sql`)).text(),
  })
  const migrations = await Promise.all(MIGRATIONS.map(read))
  const { url, drop } = await emptyDatabase()
  const { sql, close } = await openDatabase(url, 1)
  try {
    await migrate(sql, migrations)
    await load(sql, [...world(), assessment(9001), multiPart(9002, [part(9100), part(9101)])])
    return undefined
  } catch (error) {
    return (error as Error).message
  } finally {
    await close()
    await drop()
  }
}
