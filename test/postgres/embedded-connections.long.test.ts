import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type postgres from 'postgres'
import type { Sql } from 'postgres'
import { type EmbeddedDatabase, openEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { rawConnection, useNotes } from '../support/embedded-notes.ts'
import { until } from '../support/until.ts'

const notes = useNotes()
const ROUNDS = 6

describe('connections to the embedded database', () => {
  let database: EmbeddedDatabase
  const dir = join(notes.root, 'connections')

  beforeAll(async () => {
    database = await openEmbedded(notes.folder('connections'))
  })
  afterAll(() => database.close())

  test('that run concurrently always receive their own rows', async () => {
    await notes.pool(database)`create table counters (client int primary key, value int)`
    const clients = Array.from({ length: 8 }, () => notes.pool(database))
    await Promise.all(clients.map((sql, client) => talk(sql, client)))
    const [sum] = await notes.pool(database)`select count(*)::int, sum(value)::int from counters`
    expect(sum).toEqual({ count: 8, sum: 8 * ROUNDS })
  })

  /** Statements of every kind, each with an answer that only this client expects. */
  async function talk(sql: Sql, client: number): Promise<void> {
    const mine = (round: number) => client * 1_000_000 + round
    await sql`insert into counters values (${client}, 0)`
    for (let round = 0; round < ROUNDS; round++) {
      const pipelined = Array.from({ length: 20 }, (_, n) => {
        const parameters = [mine(round), `client ${client}, ${n}`]
        return sql.unsafe<postgres.Row[]>(`select ${client} as c, $1::int as a, $2 as b`, parameters, {
          prepare: client % 2 === 0,
        })
      })
      for (const [n, rows] of (await Promise.all(pipelined)).entries()) {
        expect(rows[0]).toEqual({ c: client, a: mine(round), b: `client ${client}, ${n}` })
      }
      await expect(sql`select 1 / ${0}::int`).rejects.toThrow('division by zero')
      const cursor = sql`select ${client}::int as c from generate_series(1, 5)`.cursor(2)
      for await (const rows of cursor) {
        for (const row of rows) expect(row).toEqual({ c: client })
      }
      await sql.begin(async transaction => {
        const [row] = await transaction`select value from counters where client = ${client} for update`
        expect(row).toEqual({ value: round })
        await transaction`update counters set value = value + 1 where client = ${client}`
      })
      const rolledBack = sql.begin(async transaction => {
        await transaction`update counters set value = -1`
        throw new Error('changed its mind')
      })
      await expect(rolledBack).rejects.toThrow('changed its mind')
      const [simple] = await sql.unsafe(`select ${mine(round)} as d`)
      expect(simple?.d).toBe(mine(round))
    }
  }

  test('can send and receive a parameter of 5 MB', async () => {
    const sql = notes.pool(database)
    const body = JSON.stringify({ text: 'é'.repeat(2_500_000) })
    const [row] = await sql`select ${body}::text as body`
    expect(row?.body === body).toBe(true)
  })

  test('that are cut in a transaction are rolled back, and others continue', async () => {
    const guest = notes.otherProcess(
      dir,
      `await sql.begin(async transaction => {
         await transaction\`insert into notes values (2, 'lost')\`
         console.log('inserted')
         await Bun.sleep(60_000)
       })`,
    )
    await guest.shows(/^inserted$/m)
    const waiting = notes.pool(database)`select id from notes`.execute()
    await Bun.sleep(50)
    guest.signal('SIGKILL')
    expect([...(await waiting)]).toEqual([{ id: 1 }])
  })

  test('that are cut in the middle of a batch are rolled back, and others continue', async () => {
    const other = notes.pool(database)
    await other`select 1`
    for (const [statement, answer] of [
      [`insert into notes values (2, 'lost')`, 'INSERT'],
      ['select nothing', 'does not exist'],
    ] as const) {
      const raw = rawConnection(database)
      // The batch has no Sync yet.
      raw.send(['P', `\0${statement}\0\0\0`], ['B', '\0\0\0\0\0\0\0\0'], ['E', '\0\0\0\0\0'], ['H', ''])
      await raw.answered(answer)
      const waiting = other`select id from notes`.execute()
      await Bun.sleep(20)
      raw.destroy()
      expect([...(await waiting)]).toEqual([{ id: 1 }])
    }
  })

  test('leave neither prepared statements nor settings to the next connection', async () => {
    const guest = notes.pool(database)
    for (let n = 0; n < 20; n++) await guest.unsafe(`select ${n} + $1::int`, [n], { prepare: true })
    await guest`set search_path = pg_catalog`
    await guest.end()
    const sql = notes.pool(database)
    await until('they are gone', async () => {
      const [row] = await sql`
        select (select count(*) from pg_prepared_statements)::int, current_setting('search_path') as path`
      // One prepared statement is this query, the other a query of postgres.js at the start of a connection.
      return row?.path === 'public' && row.count <= 2
    })
  })

  test('get an error for COPY FROM STDIN, and others are not affected', async () => {
    const other = notes.pool(database)
    await other`select 1`
    const raw = rawConnection(database)
    raw.send(['Q', 'copy notes from stdin\0'])
    await raw.answered('the embedded database cannot COPY FROM STDIN')
    raw.send(
      ['P', '\0copy notes from stdin\0\0\0'],
      ['B', '\0\0\0\0\0\0\0\0'],
      ['E', '\0\0\0\0\0'],
      ['S', ''],
    )
    await raw.answered('COPY notes, line 1')
    raw.destroy()
    expect([...(await other`select id from notes`)]).toEqual([{ id: 1 }])
  })

  test('are cut if the engine crashes, and the restarted engine has everything that was committed', async () => {
    const sql = notes.pool(database)
    await sql`insert into notes values (2, 'committed')`
    const deep = sql.unsafe(
      `begin; insert into notes values (3, 'lost'); select '${'['.repeat(300_000)}'::json`,
    )
    await expect(deep).rejects.toThrow('the embedded database had to be restarted')
    expect([...(await notes.pool(database)`select id from notes order by id`)]).toEqual([
      { id: 1 },
      { id: 2 },
    ])
    expect([...(await sql`select id from notes order by id`)]).toEqual([{ id: 1 }, { id: 2 }])
  })
})
