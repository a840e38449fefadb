import equivalent from './equivalent.json' with { type: 'json' }

/** A change by the lines before and after it, as linesOf() gives them. */
export interface Changed {
  path: string
  before: string
  after: string
}

export const isSame = (one: Changed, other: Changed) =>
  one.path === other.path && one.before === other.before && one.after === other.after

/** Why a change is equivalent, from equivalent.json; undefined for other changes. */
export const explanationOf = (change: Changed) => equivalent.find(one => isSame(one, change))?.why

/**
 * @throws Error if an entry of equivalent.json is none of all mutants, because its line was edited since, or if it is
 *   several, of which another may not be equivalent
 */
export function requireCurrent(all: Changed[]): void {
  const wrong = equivalent.filter(one => all.filter(mutant => isSame(one, mutant)).length !== 1)
  if (wrong.length === 0) return
  const lines = wrong.map(({ path, before, after }) => `${path}\n  - ${before}\n  + ${after}`)
  throw new Error(`mutants/equivalent.json has entries that are not one mutant:\n${lines.join('\n')}`)
}
