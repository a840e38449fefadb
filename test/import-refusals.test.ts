import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { everything, importLines, importText, problems, useDatabase } from './support/import.ts'
import { common, part, parted, people, removal, single, user } from './support/import-lines.ts'
import { BACKENDS } from './support/service.ts'

setDefaultTimeout(120_000)

describe.each(BACKENDS)('an import into %s', backend => {
  const database = useDatabase(backend)

  /** Loads `before`, expects `lines` to be refused for these reasons and to leave everything as it was. */
  async function refused(before: object[], lines: (object | string)[], expected: string[]): Promise<void> {
    expect(await importLines(database.sql, ...before)).toMatchObject({ loaded: true })
    const state = await everything(database.sql)
    const text = lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
    expect(problems(await importText(database.sql, text))).toEqual(expected)
    expect(await everything(database.sql)).toEqual(state)
  }

  describe('refuses a reference', () => {
    test('to what is neither in the file nor in the database, of every kind', async () => {
      const lines = [
        single(10, { user_id: 91 }),
        single(11, { organization_id: 92 }),
        single(12, { product_id: 93 }),
        single(13, { proctor_id: 94 }),
        { ...common, id: 14, parts: [part(15), part(16, 95)] },
        single(17),
      ]
      const missing = (column: string, what: string) =>
        `${column}: ${what} is neither in the file nor in the database`
      await refused(people, lines, [
        `1: ${missing('user_id', 'user 91')}`,
        `2: ${missing('organization_id', 'organization 92')}`,
        `3: ${missing('product_id', 'product 93')}`,
        `4: ${missing('proctor_id', 'user 94')}`,
        `5: ${missing('proctor_id', 'user 95')}`,
      ])
    })

    test('to what the same file deletes, before or after', async () => {
      await refused(
        people,
        [removal('user', 2), removal('organization', 1), single(10), removal('product', 1)],
        [
          '3: organization_id: organization 1 is deleted by line 2',
          '3: proctor_id: user 2 is deleted by line 1',
          '3: product_id: product 1 is deleted by line 4',
        ],
      )
    })
  })

  test('refuses to delete what an assessment of the database needs', async () => {
    const before = [...people, user(3), single(10), { ...common, id: 20, parts: [part(21, 3)] }]
    const lines = [
      removal('user', 3),
      removal('user', 1),
      removal('organization', 1),
      removal('product', 1),
      user(9),
    ]
    await refused(before, lines, [
      '1: user 3 can not be deleted: assessment 20 needs it',
      '2: user 1 can not be deleted: assessment 10 needs it',
      '3: organization 1 can not be deleted: assessment 10 needs it',
      '4: product 1 can not be deleted: assessment 10 needs it',
    ])
  })

  describe('refuses an id that is used twice:', () => {
    /** The reasons against one line; others may be given besides, against the line that it collides with too. */
    async function collides(before: object[], lines: object[], expected: string[]): Promise<void> {
      expect(await importLines(database.sql, ...before)).toMatchObject({ loaded: true })
      const state = await everything(database.sql)
      expect(problems(await importLines(database.sql, ...lines))).toEqual(expect.arrayContaining(expected))
      expect(await everything(database.sql)).toEqual(state)
    }

    test('a part and an assessment of the file', async () => {
      await collides(people, [parted(10, 11, 12), single(12)], ['1: part 12 has the id of an assessment'])
      await collides([], [parted(12, 13), parted(10, 11, 12)], ['2: part 12 has the id of an assessment'])
    })

    test('a part of the file and an assessment of the database', async () => {
      await collides([...people, single(10)], [parted(20, 10)], ['1: part 10 has the id of an assessment'])
    })

    test('an assessment of the file and a part of the database, be it with or without parts', async () => {
      const has = (id: number) => `assessment ${id} has the id of a part of assessment 20`
      const before = [...people, parted(20, 21, 22)]
      await collides(before, [single(21), parted(22, 23)], [`1: ${has(21)}`, `2: ${has(22)}`])
    })

    test('two parts of the file', async () => {
      await collides(
        people,
        [parted(10, 11), parted(20, 21, 11)],
        ['2: part 11 is also a part of assessment 10'],
      )
    })

    test('a part of the file and a part of the database', async () => {
      await collides(
        [...people, parted(10, 11)],
        [parted(20, 11)],
        ['1: part 11 is also a part of assessment 10'],
      )
    })

    test('a part that is not freed because its assessment keeps it', async () => {
      const before = [...people, parted(10, 11, 12)]
      await collides(before, [parted(20, 12), parted(10, 12)], ['1: part 12 is also a part of assessment 10'])
    })

    test('two parts of one line', async () => {
      await collides(people, [parted(10, 11, 11)], ['1: two parts have the same id'])
    })

    test('a part shared by many, at every line that repeats it', async () => {
      const lines = [10, 20, 30, 40].map(id => parted(id, 5))
      await importLines(database.sql, ...people)
      const reported = problems(await importLines(database.sql, ...lines)).map(text => text.split(':')[0])
      expect([...new Set(reported)]).toEqual(['2', '3', '4'])
    })
  })

  describe('reports', () => {
    test('all bad lines in order, of every kind, with the numbers that an editor shows', async () => {
      const lines = [
        '\ufeff{"type":"user","id":5,"name":"x"}\r',
        'nonsense\r',
        '\r',
        '{"type":"user","id":6}\r',
        JSON.stringify(single(10, { user_id: 99 })),
        '   ',
        'x'.repeat(1_100_000),
        '{"type":"school","id":1}',
      ]
      await refused(people, lines, [
        '2: not valid JSON',
        '4: name is missing',
        '5: user_id: user 99 is neither in the file nor in the database',
        '7: longer than 1048576 characters',
        '8: type must be organization, product, user or assessment',
      ])
    })

    test('every reason against a line that is wrong in several ways', async () => {
      await refused(
        [],
        [single(10)],
        [
          '1: organization_id: organization 1 is neither in the file nor in the database',
          '1: proctor_id: user 2 is neither in the file nor in the database',
          '1: product_id: product 1 is neither in the file nor in the database',
          '1: user_id: user 1 is neither in the file nor in the database',
        ],
      )
    })

    test('the first hundred bad lines, and counts the others', async () => {
      const lines = Array.from({ length: 260 }, (_, index) =>
        index % 2 === 0 ? JSON.stringify(single(index + 1, { user_id: 99 })) : 'nonsense',
      )
      await importLines(database.sql, ...people)
      const result = await importText(database.sql, lines.join('\n'))
      if (result.loaded) throw new Error('the import was loaded')
      expect(result.total).toBe(260)
      expect(result.problems.map(({ line }) => line)).toEqual(
        Array.from({ length: 100 }, (_, index) => index + 1),
      )
    })
  })

  test('loads nothing when the last of many lines is bad', async () => {
    const many = Array.from({ length: 12_000 }, (_, index) => single(1000 + index))
    await refused(
      [...people, single(10)],
      [user(1), single(10, { proctor_id: 1 }), ...many, 'nonsense'],
      ['12003: not valid JSON'],
    )
  })

  test('is taken again once its bad line is corrected', async () => {
    expect(problems(await importLines(database.sql, ...people, single(10, { user_id: 9 })))).toHaveLength(1)
    expect(await importLines(database.sql, ...people, single(10))).toMatchObject({ loaded: true, lines: 5 })
  })
})
