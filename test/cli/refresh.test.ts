import { afterAll, describe, expect, test } from 'bun:test'
import { emptyDatabase } from '../support/cluster.ts'
import { cleanUp } from '../support/executable.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { refusal, succeed, WORLD } from '../support/operator.ts'
import { load } from '../support/service.ts'
import { withoutTriggers } from '../support/without-triggers.ts'

afterAll(cleanUp)

describe('axport refresh', () => {
  const database = useTestDatabase()

  test('prints how many rows it corrected, and of how many erased people it removed rows, also as JSON', async () => {
    await load(database.sql, WORLD)
    const behind = () =>
      withoutTriggers(database.sql, `update users set first_name = first_name || 'x' where id = 501`)
    await behind()
    expect(await succeed(database.url, 'refresh')).toBe(
      'records            3 corrected\nnames of people    1 corrected\nnames of products  0 corrected\n' +
        'erased people      0 removed from the source tables\n',
    )
    await behind()
    await database.sql`insert into erasures (user_id) values (77)`
    expect(JSON.parse(await succeed(database.url, 'refresh', '--json'))).toEqual({
      erased: 1,
      // Rendered when the proctor was removed.
      records: 0,
      people: 1,
      products: 0,
    })
    await database.sql`delete from erasures`
  })
})

test('axport refresh needs the current schema', async () => {
  const { url, drop } = await emptyDatabase()
  expect(await refusal(url, 'refresh')).toEndWith('run axport migrate')
  await drop()
})
