import { afterAll, beforeAll } from 'bun:test'
import {
  type Backend,
  openTestDatabase,
  startService,
  type TestDatabase,
  type TestService,
} from './service.ts'

/** A database of its own for the tests of a group, empty at first, and open while they run. */
export const useTestDatabase = (backend: Backend = 'postgres'): TestDatabase =>
  use(() => openTestDatabase(backend))

/** The service on such a database. */
export const useService = (backend: Backend = 'postgres'): TestService => use(() => startService(backend))

/** What is opened before the tests of a group and closed after them; nothing of it is there before. */
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
