import { afterAll, describe, expect, test } from 'bun:test'
import { emptyDatabase } from '../support/cluster.ts'
import { axport, cleanUp, errorLine } from '../support/executable.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { refusal, succeed, WORLD } from '../support/operator.ts'
import { load } from '../support/service.ts'
import { withoutTriggers } from '../support/without-triggers.ts'

afterAll(cleanUp)

describe('axport refresh', () => {
  const database = useTestDatabase()

  test('prints how many records it compared and how many differed, as a table and as JSON', async () => {
    await load(database.sql, WORLD)
    const behind = () =>
      withoutTriggers(database.sql, `update users set first_name = first_name || 'x' where id = 501`)
    await behind()
    expect(await succeed(database.url, 'refresh')).toBe(
      '          compared  missing  outdated  left over\n' +
        'records   3         0        3         0\npeople    2         0        1         0\n' +
        'products  3         0        0         0\ncounts    3         0        0         0\n',
    )
    await behind()
    expect(JSON.parse(await succeed(database.url, 'refresh', '--organizations', '11,12', '--json'))).toEqual({
      records: { compared: 1, missing: 0, outdated: 1, left_over: 0 },
      people: { compared: 1, missing: 0, outdated: 1, left_over: 0 },
      products: { compared: 3, missing: 0, outdated: 0, left_over: 0 },
      counts: { compared: 1, missing: 0, outdated: 0, left_over: 0 },
    })
  })
})

test('axport refresh accepts only ids, and needs the current schema', async () => {
  expect(errorLine(await axport(['refresh', '--organizations', 'x']), 2)).toContain('"x" is not an id')
  const { url, drop } = await emptyDatabase()
  expect(await refusal(url, 'refresh')).toEndWith('run axport migrate')
  await drop()
})
