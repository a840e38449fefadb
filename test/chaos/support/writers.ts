import { axport } from '../../support/executable.ts'
import { succeed, type World } from './world.ts'

/** Records that writers add at most, with ids and days that come after all others. */
export const ADDED = 40
const FIRST_ID = 900_000_000
const LATE = '2031-01-01T12:00:00Z'

/** What added records belong to: as one that is in the scope. */
interface Late {
  organization_id: number
  product_id: number
  user_id: number
}

/** What was written so far, in times. */
interface Written {
  renamings: number
  imports: number
  rotations: number
}

/** Writers at work. */
export interface Writers {
  written: Written
  stop(): Promise<void>
}

/**
 * Writes all the time, until they are stopped: everybody is renamed in one transaction; records
 * are added and removed by imports; the secret of another integration is rotated. What fails is tried again.
 * @param pause milliseconds between two of a kind
 */
export async function startWriters(world: World, pause = 50): Promise<Writers> {
  const env = { DATABASE_URL: world.victim.url }
  const scope = ['--organizations', 'all', '--products', 'all', '--json']
  const other = JSON.parse(await succeed(['integration', 'create', 'Rotated', ...scope], env)) as {
    client_id: string
  }
  const [late] = await world.victim.ask(
    sql => sql<Late[]>`
      select organization_id::int, product_id::int, user_id::int from assessments
      where id = ${world.truth.ids[0] ?? null}`,
  )
  if (!late) throw new Error('there are no records')
  const written: Written = { renamings: 0, imports: 0, rotations: 0 }
  let isStopped = false
  const repeat = async (work: () => Promise<boolean>, what: keyof Written) => {
    while (!isStopped) {
      if (await work()) written[what]++
      await Bun.sleep(pause)
    }
  }
  const command = async (args: string[], stdin?: string) =>
    (await axport(args, { env, ...(stdin !== undefined && { stdin: { text: stdin } }) })).code === 0
  let isAdded = false
  const running = [
    repeat(() => rename(world, written.renamings + 1), 'renamings'),
    repeat(() => {
      isAdded = !isAdded
      return command(['import', '-'], lateLines(late, isAdded))
    }, 'imports'),
    repeat(() => command(['integration', 'rotate', other.client_id, '--json']), 'rotations'),
  ]
  const stop = async () => {
    isStopped = true
    await Promise.all(running)
  }
  return { written, stop }
}

async function rename({ victim }: World, version: number): Promise<boolean> {
  try {
    await victim.ask(
      sql => sql`update users set name = regexp_replace(name, ' v[0-9]+$', '') || ${` v${version}`}`,
    )
    return true
  } catch {
    // The database was taken away; the next one comes soon.
    return false
  }
}

/** Import lines that add the late records, or remove them. */
function lateLines({ organization_id, product_id, user_id }: Late, isAdded: boolean): string {
  return Array.from({ length: ADDED }, (_, index) => {
    const id = FIRST_ID + index
    const record = {
      ...{ type: 'assessment', id, certified_at: LATE, organization_id, product_id },
      ...{ user_id, proctor_id: user_id },
    }
    return `${JSON.stringify(isAdded ? record : { type: 'assessment', id, deleted: true })}\n`
  }).join('')
}
