import type { Measure } from '../measured-service.ts'
import { pagesFrom, walksAgain } from '../paths.ts'
import type { Reach, Result } from '../results.ts'
import { besideBefore, byBoth, compared, inTurns } from '../rounds.ts'
import { broadScope, bySize, hundreds, middleScope, sizeOf, variantsOf } from '../scopes.ts'
import { type Walker, walkTogether } from '../walkers.ts'
import type { Deployment, Scope, World } from '../world.ts'
import { whileWriting } from '../writer.ts'

const PAGES = 1500

const WALKERS = 8

/** Walkers, the scope whose records are changed, and the most times that few writes may make the walk longer. */
interface Walk {
  name: string
  walkers: Walker[]
  written: Scope
  atMost?: number
}

/**
 * Walks during writes, compared with the same walk without writes and with the same walk by the earlier executable: by
 * one client, by several clients of different scopes, and in a narrow scope while records outside of it are changed.
 */
export const writes: Measure = {
  name: 'writes',
  async run(world) {
    const broad = await broadScope(world.sql)
    const narrow = await middleScope(world.sql)
    const others = (await bySize(world.sql)).filter(id => !narrow.organizations.includes(id))
    const walks: Walk[] = [
      { name: 'one client', walkers: [await fromMiddle(world, broad)], written: broad, atMost: 1.2 },
      {
        name: `${WALKERS} clients of ${WALKERS} scopes`,
        walkers: await Promise.all(variantsOf(broad, WALKERS).map(scope => fromMiddle(world, scope))),
        written: broad,
        atMost: 1.3,
      },
      {
        name: `one client of ${narrow.organizations.length} organizations, writes to others`,
        walkers: [await overAndOver(world, narrow)],
        written: { ...broad, organizations: others },
      },
    ]
    const results: Result[] = []
    for (const walk of walks) results.push(...(await duringWrites(world, walk)))
    return results
  },
}

/** A page, and the pages after it. */
async function fromMiddle({ sql }: World, scope: Scope): Promise<Walker> {
  const { count } = await sizeOf(sql, scope)
  const start = hundreds(count / 2)
  const pages = Math.min(PAGES, Math.floor((count - start) / 100))
  return { scope, paths: pagesFrom(start, pages + 1) }
}

/** Whole walks of a scope with few pages, one after the other. */
async function overAndOver({ sql }: World, scope: Scope): Promise<Walker> {
  const { count } = await sizeOf(sql, scope)
  return { scope, paths: walksAgain(count, PAGES + 1) }
}

async function duringWrites(world: World, { name, walkers, written, atMost }: Walk): Promise<Result[]> {
  /** Seconds of the slowest client for its pages after the first, which finds the middle. */
  const seconds = async (deployment: Deployment) => {
    const outcomes = await walkTogether(world, deployment, walkers)
    return Math.max(
      ...outcomes.map(({ latencies: [, ...others] }) => others.reduce((sum, ms) => sum + ms, 0) / 1000),
    )
  }
  const during = (perSecond: number) => (deployment: Deployment) =>
    whileWriting(world, deployment, written, perSecond, () => seconds(deployment))
  const few = byBoth(world, during(10))
  const many = byBoth(world, during(100))
  const times = await inTurns(Math.min(3, world.options.rounds), {
    quiet: () => seconds(world),
    few: few.present,
    fewBefore: few.before,
    many: many.present,
    manyBefore: many.before,
  })
  const pages = Math.max(...walkers.map(({ paths }) => paths.length - 1)).toLocaleString('en-US')
  const measure = (perSecond: number) => `${pages} pages, ${name}, ${perSecond} writes a second`
  const notSlower: Reach = { of: 'ratio', atMost: 1 }
  return [
    {
      measure: `${measure(10)} ÷ no writes`,
      ...compared(times.few, times.quiet),
      unit: 's',
      beside: 'no writes',
      ...(atMost && { reach: { of: 'ratio', atMost } }),
    },
    besideBefore(measure(10), 's', times.few, times.fewBefore, notSlower),
    besideBefore(measure(100), 's', times.many, times.manyBefore, notSlower),
  ]
}
