import { test } from 'bun:test'
import { useDatabase } from '../support/import.ts'
import { expectFirstLoad } from './large-load.ts'

const database = useDatabase()

test('a bulk load of an empty database restores indexes and foreign keys, and renders every record correctly', async () => {
  await expectFirstLoad(database.sql)
})
