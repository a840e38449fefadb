import { describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { cluster } from '../support/cluster.ts'
import { round } from '../support/platform-example.ts'
import { folderOf } from './csv-files.ts'
import { useFeed } from './use-feed.ts'

const { database, platform, feed } = useFeed()

describe('the server of a platform', () => {
  test('may be another one by now: everything is read', async () => {
    await feed()
    await database.sql`update feeds set platform = 'another'`
    expect(await feed()).toMatchObject({
      since: '-infinity',
      notes: ['all was read: the platform is another database now'],
    })
  })

  test('may have its clock set back: rows are read back to before the present', async () => {
    await feed()
    await database.sql`update feeds set snapshot_at = snapshot_at + interval '5 hours'`
    const { since } = await feed()
    expect(Date.parse(since as string)).toBeLessThan(Date.now() - 800_000)
  })

  test('may be slower than the timeouts in its URL', async () => {
    const url = `${platform.url}?options=${['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'].map(name => `-c%20${name}%3D100`).join('%20')}`
    const queries = folderOf({ 'organizations.sql': `select 1 as id, 'x' || pg_sleep(0.3)::text as name` })
    expect(await round(database.sql, url, { queries, feed: 'slow' })).toMatchObject({ loaded: true })
  })

  test('may have another encoding; a text that its encoding does not allow is refused', async () => {
    const admin = postgres((await cluster()).url(), { max: 1, onnotice: () => {} })
    const inEncoding = async (encoding: string, text: string) => {
      const name = `${new URL(platform.url).pathname.slice(1)}_${encoding.toLowerCase()}`
      await admin.unsafe(
        `create database ${name} template template0 encoding '${encoding}' lc_collate 'C' lc_ctype 'C'`,
      )
      const url = new URL(platform.url)
      url.pathname = `/${name}`
      const queries = folderOf({ 'organizations.sql': `select 1 as id, ${text} as name` })
      return await round(database.sql, url.href, { queries, feed: encoding }).finally(() =>
        admin.unsafe(`drop database ${name} with (force)`),
      )
    }
    expect(await inEncoding('LATIN1', `convert_from('\\xe9', 'LATIN1')`)).toMatchObject({ loaded: true })
    expect([...(await database.sql`select name from organizations where id = 1`)]).toEqual([{ name: 'é' }])
    await expect(inEncoding('SQL_ASCII', `convert_from('\\xe9', 'SQL_ASCII')`)).rejects.toThrow(
      /^organizations\.sql: invalid byte sequence for encoding … \(SQLSTATE 22021\): a text is not in the encoding/,
    )
    await admin.end()
  })
})
