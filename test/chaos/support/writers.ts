import postgres from 'postgres'
import { axport } from '../../support/executable.ts'
import { succeed, type World } from './world.ts'

/** Records that writers add at most, with ids and days that come after all others. */
export const ADDED = 40
const FIRST_ID = 900_000_000
const LATE = '2031-01-01T12:00:00Z'

/** What was written so far. */
export interface Written {
  renamings: number
  imports: number
  rotations: number
}

/**
 * Writes all the time, until the returned function is called: everybody is renamed in one transaction; records
 * are added and removed by imports; the secret of another integration is rotated. What fails is tried again.
 */
export async function startWriters(world: World): Promise<() => Promise<Written>> {
  const env = { DATABASE_URL: world.victim.url }
  const scope = ['--organizations', 'all', '--products', 'all', '--json']
  const other = JSON.parse(await succeed(['integration', 'create', 'Rotated', ...scope], env)) as {
    client_id: string
  }
  const written: Written = { renamings: 0, imports: 0, rotations: 0 }
  let isStopped = false
  const repeat = async (work: () => Promise<boolean>, what: keyof Written) => {
    while (!isStopped) {
      if (await work()) written[what]++
      await Bun.sleep(50)
    }
  }
  const command = async (args: string[], stdin?: string) =>
    (await axport(args, { env, ...(stdin !== undefined && { stdin: { text: stdin } }) })).code === 0
  let isAdded = false
  const running = [
    repeat(() => rename(world.victim.url, written.renamings + 1), 'renamings'),
    repeat(() => {
      isAdded = !isAdded
      return command(['import', '-'], lateLines(world, isAdded))
    }, 'imports'),
    repeat(() => command(['integration', 'rotate', other.client_id, '--json']), 'rotations'),
  ]
  return async () => {
    isStopped = true
    await Promise.all(running)
    return written
  }
}

async function rename(url: string, version: number): Promise<boolean> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 5 })
  try {
    await sql`update users set name = regexp_replace(name, ' v[0-9]+$', '') || ${` v${version}`}`
    return true
  } catch {
    // The database was taken away; the next one comes soon.
    return false
  } finally {
    await sql.end({ timeout: 0 })
  }
}

/** Import lines that add the late records, or remove them. */
function lateLines({ scope, late }: World, isAdded: boolean): string {
  return Array.from({ length: ADDED }, (_, index) => {
    const id = FIRST_ID + index
    const record = {
      ...{ type: 'assessment', id, certified_at: LATE, ...late },
      organization_id: Number(scope.organizations[0]),
      product_id: Number(scope.products[0]),
    }
    return `${JSON.stringify(isAdded ? record : { type: 'assessment', id, deleted: true })}\n`
  }).join('')
}
