import { axport } from '../../../support/executable.ts'
import type { Assessment } from '../../../support/oracle-records.ts'
import { succeed, type World } from './world.ts'

const ADDED = 40
const FIRST_ID = 900_000_000
const LATE = '2031-01-01T12:00:00Z'

/** The records that writers add and remove: with ids and days that come after all others, and in the scope. */
export function lateRecords({ platform, truth }: World): Assessment[] {
  const like = platform.assessments.find(({ id }) => id === truth.ids[0])
  if (!like) throw new Error('there are no records')
  return Array.from({ length: ADDED }, (_, index) => {
    const id = FIRST_ID + index
    const part = { id, name: null, micros: null, proctor_id: like.user_id }
    return { ...like, id, micros: Date.parse(LATE) * 1000, legacy_record: false, parts: [part] }
  })
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
export async function startWriters(world: World, pause = 250): Promise<Writers> {
  const env = { DATABASE_URL: world.victim.url }
  const scope = ['--organizations', 'all', '--products', 'all', '--json']
  const other = JSON.parse(await succeed(['integration', 'create', 'Rotated', ...scope], env)) as {
    client_id: string
  }
  const late = lateRecords(world)
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
function lateLines(late: Assessment[], isAdded: boolean): string {
  const lines = late.map(({ id, user_id, organization_id, product_id }) =>
    isAdded
      ? {
          type: 'assessment',
          id,
          user_id,
          organization_id,
          product_id,
          certified_at: LATE,
          proctor_id: user_id,
        }
      : { type: 'assessment', id, deleted: true },
  )
  return lines.map(line => `${JSON.stringify(line)}\n`).join('')
}
