import { test } from 'bun:test'
import { useDatabase } from '../support/import.ts'
import { expectFirstLoad } from './large-load.ts'

const database = useDatabase('postgres')

test('a first load that puts off indexes and foreign keys leaves them as they were, and every record true', async () => {
  await expectFirstLoad(database.sql)
})
