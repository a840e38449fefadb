import { givenDatabaseUrl, SETTINGS, type SettingName, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { readLimits } from './limits.ts'
import { readTls } from './service.ts'

/**
 * What `serve` refuses in the settings: values that cannot be read, and then settings that contradict each other.
 * @param readUrl reads DATABASE_URL, which may be missing unless this throws
 */
function settingProblems(readUrl: () => unknown = givenDatabaseUrl): string[] {
  const names = Object.keys(SETTINGS) as SettingName[]
  const invalid = names.flatMap(name => problemOf(() => setting(name)))
  if (invalid.length > 0) return invalid
  return [readUrl, readLimits, readTls].flatMap(problemOf)
}

/** @throws Failure that names every problem of the settings; `readUrl` as above */
export function requireSettings(readUrl?: () => unknown): void {
  const problems = settingProblems(readUrl)
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
