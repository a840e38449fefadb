import { axport } from '../../../support/executable.ts'
import { removal } from '../../../support/fixtures.ts'
import type { Assessment } from '../../../support/oracle-records.ts'
import { importing, integrate } from '../../support/operations.ts'
import { lineOf } from '../../support/small-platform.ts'
import type { World } from './world.ts'

const ADDED = 40
const FIRST_ID = 900_000_000
const MICROS = Date.parse('2031-01-01T12:00:00Z') * 1000

/** The records that writers add and remove: with ids and days that come after all others, and in the scope. */
export function lateRecords({ platform, truth }: World): Assessment[] {
  const like = platform.assessments.find(({ id }) => id === truth.ids[0])
  if (!like) throw new Error('there are no records')
  return Array.from({ length: ADDED }, (_, index) => {
    const id = FIRST_ID + index
    const part = { id, name: null, micros: null, proctor_id: like.user_id }
    return { ...like, id, micros: MICROS, legacy_record: false, parts: [part] }
  })
}

/** Writers at work. */
export interface Writers {
  /** What was written so far, in times. */
  written: { renamings: number; imports: number; rotations: number }
  stop(): Promise<void>
}

/**
 * Writes all the time, until they are stopped: everybody is renamed in one transaction; records
 * are added and removed by imports; the secret of another integration is rotated. What fails is tried again.
 * @param pause milliseconds between two of a kind
 */
export async function startWriters(world: World, pause = 250): Promise<Writers> {
  const { victim } = world
  const { clientId } = await integrate(victim.url, world.scope)
  const late = lateRecords(world)
  const written = { renamings: 0, imports: 0, rotations: 0 }
  let isStopped = false
  let isAdded = false
  const rename = () => {
    const suffix = ` v${written.renamings + 1}`
    return victim.ask(sql => sql`update users set name = regexp_replace(name, ' v[0-9]+$', '') || ${suffix}`)
  }
  const load = () => {
    isAdded = !isAdded
    return importing(victim.url, late.map(isAdded ? lineOf : ({ id }) => removal('assessment', id)))
  }
  const rotate = () =>
    axport(['integration', 'rotate', clientId, '--json'], { env: { DATABASE_URL: victim.url } })
  const repeat = async (what: keyof typeof written, work: () => Promise<object>) => {
    while (!isStopped) {
      // Where the database was taken away, the statement throws and the command ends with another code.
      const done = await work().catch(() => ({ code: 1 }))
      if (!('code' in done) || done.code === 0) written[what]++
      await Bun.sleep(pause)
    }
  }
  const running = [repeat('renamings', rename), repeat('imports', load), repeat('rotations', rotate)]
  const stop = async () => {
    isStopped = true
    await Promise.all(running)
  }
  return { written, stop }
}
