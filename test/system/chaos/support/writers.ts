import { axport } from '../../../support/executable.ts'
import { removal } from '../../../support/fixtures.ts'
import type { Assessment } from '../../../support/oracle-records.ts'
import { importing, integrate } from '../../support/operations.ts'
import { lineOf } from '../../support/small-platform.ts'
import type { World } from './world.ts'

const ADDED = 40
const FIRST_ID = 900_000_000
const MICROS = Date.parse('2031-01-01T12:00:00Z') * 1000

/** The records that writers add and remove. They are in the scope, and their ids and days come after all others. */
export function lateRecords({ platform, truth }: World): Assessment[] {
  const like = platform.assessments.find(({ id }) => id === truth.ids[0])
  if (!like) throw new Error('the world has no records')
  return Array.from({ length: ADDED }, (_, index) => {
    const id = FIRST_ID + index
    const part = { id, name: null, micros: null, proctor_id: like.user_id }
    return { ...like, id, micros: MICROS, legacy_record: false, parts: [part] }
  })
}

/** Running writers. */
export interface Writers {
  /** The number of successful writes by kind. */
  written: { renamings: number; imports: number; rotations: number }
  stop(): Promise<void>
}

/**
 * Starts three writers, which run until stop(): one renames all users in one transaction, one adds and removes records
 * by imports, and one rotates the secret of another integration. A failed write is repeated.
 * @param pause milliseconds between two writes of a kind
 */
export async function startWriters(world: World, pause = 500): Promise<Writers> {
  const { postgres } = world
  const { clientId } = await integrate(postgres.url, world.scope)
  const late = lateRecords(world)
  const written = { renamings: 0, imports: 0, rotations: 0 }
  let isStopped = false
  let isAdded = false
  const rename = () => {
    const suffix = ` v${written.renamings + 1}`
    return postgres.asSuperuser(
      sql => sql`update users set name = regexp_replace(name, ' v[0-9]+$', '') || ${suffix}`,
      // The test may end the server meanwhile.
      { fetch_types: false },
    )
  }
  const load = () => {
    isAdded = !isAdded
    return importing(postgres.url, late.map(isAdded ? lineOf : ({ id }) => removal('assessment', id)))
  }
  const rotate = () =>
    axport(['integration', 'rotate', clientId, '--json'], { env: { DATABASE_URL: postgres.url } })
  const repeat = async (what: keyof typeof written, work: () => Promise<object>) => {
    while (!isStopped) {
      // Without the database, the statement throws and the command exits with another code than 0.
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
