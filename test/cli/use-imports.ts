import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { axport, emptyFolder } from '../support/executable.ts'
import { ndjsonOf, organization, proctor } from '../support/fixtures.ts'
import { useDatabase } from '../support/import.ts'

/** Two lines. */
export const TWO = ndjsonOf([organization(12, 'Lakeside'), proctor(77)])

/** A database, and commands that import files of one folder into it. */
export function useImports() {
  const database = useDatabase()
  const cwd = emptyFolder()
  const options = () => ({ cwd, env: { DATABASE_URL: database.url } })
  const run = (...args: string[]) => axport(['import', ...args], options())
  const fileOf = (name: string, content: string | Uint8Array) => {
    writeFileSync(join(cwd, name), content)
    return name
  }
  const names = async () =>
    (await database.sql<{ name: string }[]>`select name from organizations`).map(({ name }) => name)
  return { database, cwd, options, run, fileOf, names }
}
