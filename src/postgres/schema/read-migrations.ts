import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files of db/migrations by name. Bun runs this macro when it transpiles or bundles the file that calls it. */
export function readMigrations(): { name: string; sql: string }[] {
  const folder = join(import.meta.dir, '..', '..', '..', 'db', 'migrations')
  const files = readdirSync(folder)
    .filter(name => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
  return files.map(file => ({
    name: file.replace(/\.sql$/, ''),
    sql: readFileSync(join(folder, file), 'utf8'),
  }))
}
