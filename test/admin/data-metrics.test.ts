import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { TEST_TIMEOUT_MS } from '../support/executable.ts'
import { useServedWorld } from '../support/served.ts'
import { dataMetrics } from './samples.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld({ DATABASE_POOL_SIZE: '2', ADMIN_PORT: '0' })

describe('/metrics about data', () => {
  test('have the time of the oldest secret, the state of each feed, and what loads removed of each table', async () => {
    const { sql } = world
    await sql`
      insert into feeds (name, platform, snapshot_at, queries, succeeded_at, left_out, compared_at) values
        ('nightly', 'p', to_timestamp(3000), '{}', to_timestamp(3010), 1, to_timestamp(2900)),
        ('new', 'p', '-infinity', '{}', to_timestamp(4010), 0, null)`
    await sql`update integration_secrets set created_at = to_timestamp(5000)`
    await sql`update removals set removed = 3, remaining = 10 where table_name = 'assessments'`
    const running = await world.serve()
    const found = await dataMetrics(running)
    const wanted = {
      axport_oldest_secret_timestamp_seconds: 5000,
      'axport_feed_position_timestamp_seconds{feed="nightly"}': 3000,
      'axport_feed_last_success_timestamp_seconds{feed="nightly"}': 3010,
      'axport_feed_last_comparison_timestamp_seconds{feed="nightly"}': 2900,
      'axport_feed_left_out_rows{feed="nightly"}': 1,
      'axport_feed_position_timestamp_seconds{feed="new"}': undefined,
      'axport_feed_last_comparison_timestamp_seconds{feed="new"}': undefined,
      'axport_feed_left_out_rows{feed="new"}': 0,
      'axport_removed_rows_total{table="assessments"}': 3,
      'axport_remaining_rows{table="assessments"}': 10,
      'axport_removed_rows_total{table="users"}': 0,
    }
    const shown = Object.keys(wanted).map(name => [name, found.get(name)])
    expect(Object.fromEntries(shown)).toEqual(wanted)
    await running.end()
    await sql`delete from feeds`
    await sql`update removals set removed = 0, remaining = 0`
  })

  test('leave out secrets that are ending, and those of disabled integrations', async () => {
    const running = await world.serve()
    const oldest = async () => (await dataMetrics(running)).get('axport_oldest_secret_timestamp_seconds')
    const { sql } = world
    await sql`update integration_secrets set created_at = to_timestamp(5000)`
    expect(await oldest()).toBe(5000)
    await sql`update integrations set disabled_at = now()`
    expect(await oldest()).toBeUndefined()
    await sql`update integrations set disabled_at = null`
    await sql`update integration_secrets set expires_at = now() + interval '1 day'`
    expect(await oldest()).toBeUndefined()
    await sql`update integration_secrets set expires_at = null`
    await running.end()
  })
})

describe('/metrics about what did not happen', () => {
  test('have the last backup, once there was one', async () => {
    const running = await world.serve()
    const last = async () => (await dataMetrics(running)).get('axport_last_backup_timestamp_seconds') ?? 0
    expect(await last()).toBe(0)
    await world.sql`call note_backup()`
    const first = await last()
    expect(Math.abs(first - Date.now() / 1000)).toBeLessThan(60)
    await world.sql`call note_backup()`
    expect(await last()).toBeGreaterThan(first)
    await running.end()
  })

  test('have the last use of each enabled integration: of its newest secret that was used, or since a secret is there', async () => {
    const running = await world.serve()
    const { sql } = world
    const { clientId } = world.credentials
    const name = `axport_integration_last_use_timestamp_seconds{client_id="${clientId}"}`
    const used = async () => (await dataMetrics(running)).get(name)
    await sql`update integration_secrets set created_at = to_timestamp(5000), last_used_at = null`
    expect(await used()).toBe(5000)
    await sql`update integration_secrets set last_used_at = to_timestamp(6000)`
    await sql`
      insert into integration_secrets (integration_id, digest, created_at)
      select id, sha256('new'), to_timestamp(7000) from integrations`
    expect(await used()).toBe(6000)
    await sql`update integration_secrets set last_used_at = to_timestamp(8000) where digest = sha256('new')`
    expect(await used()).toBe(8000)
    await sql`update integrations set disabled_at = now()`
    expect(await used()).toBeUndefined()
    await sql`update integrations set disabled_at = null`
    await sql`delete from integration_secrets where digest = sha256('new')`
    await running.end()
  })

  test('have at most 1,000 integrations, the oldest', async () => {
    const running = await world.serve()
    const { sql } = world
    await sql`insert into integrations (client_id, name) select 'more' || n, 'More' from generate_series(1, 1000) n`
    await sql`
      insert into integration_secrets (integration_id, digest)
      select id, sha256(client_id::bytea) from integrations where name = 'More'`
    const ids = [...(await dataMetrics(running)).keys()].filter(key => key.startsWith('axport_integration_'))
    expect([ids.length, ids.some(id => id.includes(world.credentials.clientId))]).toEqual([1000, true])
    expect(ids.some(id => id.includes('"more1000"'))).toBe(false)
    await sql`delete from integrations where name = 'More'`
    await running.end()
  })
})
