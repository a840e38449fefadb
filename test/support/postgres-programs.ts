import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  findPrograms,
  type Programs,
  programsIn,
  serverUser,
} from '../../src/database/private-server/programs.ts'
import { madeOnce } from './made-once.ts'

/** The Postgres that npm installed. If its user may not enter this checkout, all processes of a run share one copy. */
export async function postgresPrograms(): Promise<Programs> {
  const user = serverUser()
  const made = await madeOnce('postgres-programs', async draft => {
    await mkdir(draft)
    await chmod(draft, 0o711)
    findPrograms(user, draft)
  })
  return programsIn(join(made, 'postgres', 'bin'), user) ?? findPrograms(user, made)
}
