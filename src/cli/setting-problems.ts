import { givenUrl, SETTINGS, type SettingName, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { readLimits } from './limits.ts'
import { readTls } from './service.ts'
import { standbyUrl } from './standby.ts'

/**
 * Refuses what is wrong in the settings: values that cannot be read, and then settings that contradict each other.
 * @param readUrl reads DATABASE_URL, which may be missing unless this throws
 * @throws Failure that names every problem
 */
export function requireSettings(readUrl: () => unknown = () => givenUrl('DATABASE_URL')): void {
  const names = Object.keys(SETTINGS) as SettingName[]
  const invalid = names.flatMap(name => problemOf(() => setting(name)))
  const problems =
    invalid.length > 0 ? invalid : [readUrl, standbyUrl, readLimits, readTls].flatMap(problemOf)
  if (problems.length > 0) throw new Failure(problems.join('; '))
}

function problemOf(read: () => unknown): string[] {
  try {
    read()
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}
