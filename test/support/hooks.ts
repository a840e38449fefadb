import { afterAll, beforeAll } from 'bun:test'
import { openTestDatabase, startService, type TestDatabase, type TestService } from './service.ts'

/** A database for the tests of one group, empty at first, and open while the tests run. */
export const useTestDatabase = (): TestDatabase => use(() => openTestDatabase())

/** The service on a database for the tests of one group. */
export const useService = (): TestService => use(() => startService())

/** Calls `open` before the tests of a group and `close` after them. The returned object is empty until then. */
export function use<Opened extends object>(open: () => Promise<Opened & { close(): Promise<void> }>): Opened {
  const used = {} as Opened
  let close = async () => {}
  beforeAll(async () => {
    const opened = await open()
    close = opened.close
    Object.assign(used, opened)
  })
  afterAll(() => close())
  return used
}
