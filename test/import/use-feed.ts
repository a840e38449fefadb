import { beforeEach } from 'bun:test'
import { useTestDatabase } from '../support/hooks.ts'
import { round, usePlatform } from '../support/platform-example.ts'

/** A platform with its example data, and rounds from it into a database in which no feed has a position before a test. */
export function useFeed() {
  // Not emptied before each test: to find all rows unchanged takes a round half as long as to load them.
  const database = useTestDatabase()
  const platform = usePlatform()
  beforeEach(async () => {
    await database.sql`delete from feeds`
  })
  const feed = (reading: Parameters<typeof round>[2] = {}, options: Parameters<typeof round>[3] = {}) =>
    round(database.sql, platform.url, reading, options)
  return { database, platform, feed }
}
