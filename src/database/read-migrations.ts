import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** The files of db/migrations by name. Bun runs this macro when it transpiles or bundles the file that calls it. */
export function readMigrations(): { name: string; sql: string }[] {
  const folder = join(import.meta.dir, '..', '..', 'db', 'migrations')
  const files = [...new Bun.Glob('*.sql').scanSync(folder)]
    .filter(file => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
  return files.map(file => ({ name: basename(file, '.sql'), sql: readFileSync(join(folder, file), 'utf8') }))
}
