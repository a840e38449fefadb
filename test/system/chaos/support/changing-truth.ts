import { Oracle } from '../../../support/oracle.ts'
import type { Assessment } from '../../../support/oracle-records.ts'
import { answersOf, type Truth } from './truth.ts'
import type { World } from './world.ts'

/**
 * The truth while writers run. They rename all users in one transaction, again and again, so that all names end in "
 * v7", say; and they add and remove the `late` records, which come after all others. A right answer has all names of
 * one renaming, and either all late records or none.
 */
export function changingTruth({ platform, scope, truth }: World, late: Assessment[]): Truth {
  const assessments = [...platform.assessments, ...late]
  const answers = [platform, { ...platform, assessments }].map(state => answersOf(new Oracle(state), scope))
  return {
    ...truth,
    queries: [],
    accepts: (path, text) => {
      const [version = ''] = / v\d+(?=")/.exec(text) ?? []
      return answers.some(answer => atVersion(answer(path), version) === text)
    },
  }
}

/** The answer with the names of a renaming. */
function atVersion(text: string | undefined, version: string): string | undefined {
  return text?.replaceAll(/"(?:proctor_)?name":"(?:[^"\\]|\\.)*/g, name => name + version)
}
