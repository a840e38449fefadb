import { expect, test } from 'bun:test'
import { useNotes } from '../support/embedded-notes.ts'
import { until } from '../support/until.ts'

const notes = useNotes()

test('a transaction may be idle for the time that its BEGIN sets, and then others have their turn', async () => {
  const database = await notes.open(notes.folder('reads'))
  const holder = notes.pool(database)
  await holder.unsafe('begin; set local idle_in_transaction_session_timeout = 300')
  await holder`insert into notes values (2, 'lost')`
  const startedAt = performance.now()
  expect([...(await notes.pool(database)`select id from notes`)]).toEqual([{ id: 1 }])
  expect(performance.now() - startedAt).toBeGreaterThan(250)
  // The time was that of its transaction alone.
  const writer = notes.pool(database)
  await writer.begin(async transaction => {
    await transaction`insert into notes values (2, 'kept')`
    await Bun.sleep(800)
  })
  expect([...(await writer`select id from notes order by id`)]).toEqual([{ id: 1 }, { id: 2 }])
})

test('a transaction that is no read of a service may be idle for longer', async () => {
  const database = await notes.open(notes.folder('import'))
  const writer = notes.pool(database)
  await writer.begin(async transaction => {
    await transaction`insert into notes values (2, 'slow')`
    const reader = notes.pool(database)`select id from notes order by id`.execute()
    let hasRead = false
    void reader.then(() => {
      hasRead = true
    })
    // Longer than a read of a service may be idle.
    await Bun.sleep(1500)
    expect(hasRead).toBe(false)
    await transaction`update notes set body = 'written' where id = 2`
  })
  await until('it is stored', async () => {
    const [row] = await notes.pool(database)`select body from notes where id = 2`
    return row?.body === 'written'
  })
})
