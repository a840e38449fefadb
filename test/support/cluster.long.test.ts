import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { cluster, emptyDatabase, freshDatabase, type OwnCluster, startCluster } from './cluster.ts'
import { until } from './until.ts'
import { withConnection } from './with-connection.ts'

test('cluster() returns the same Postgres server for every call in one process', async () => {
  const [first, second] = [await cluster(), await cluster()]
  expect(second.url()).toBe(first.url())
})

describe('freshDatabase()', () => {
  let prepared = 0
  const prepare = async (url: string) => {
    prepared++
    await withConnection(url, sql => sql`create table notes as select 'from the template' as text`)
  }
  const texts = (url: string) =>
    withConnection(url, async sql => (await sql`select text from notes`).map(row => row.text))

  test('fills its template once, and returns copies that do not share later changes', async () => {
    const [one, other] = await Promise.all([1, 2].map(() => freshDatabase('notes', prepare)))
    if (!one || !other) throw new Error('freshDatabase() was called twice and must return two databases')
    await withConnection(one.url, sql => sql`insert into notes values ('mine')`)
    expect(await texts(one.url)).toEqual(['from the template', 'mine'])
    expect(await texts(other.url)).toEqual(['from the template'])
    expect(prepared).toBe(1)
    await Promise.all([one.drop(), other.drop()])
  })

  test('returns a database that drop() removes even while a client is connected', async () => {
    const { url, drop } = await emptyDatabase()
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    await sql`select 1`
    await drop()
    await sql.end({ timeout: 0 })
    expect(await withConnection(url, other => other`select 1`).catch(error => error.code)).toBe('3D000')
  })
})

describe('startCluster()', () => {
  const counted = (own: OwnCluster) =>
    withConnection(own.url(), async sql => (await sql`select count(*)::int as n from kept`)[0]?.n)

  test('applies settings, keeps the data through a crash and a restart, and removes its files on stop()', async () => {
    const own = await startCluster({ settings: { max_connections: '17' } })
    const [row] = await withConnection(own.url(), sql => sql`show max_connections`)
    expect(row?.max_connections).toBe('17')
    await withConnection(own.url(), sql => sql`create table kept as select 1`)
    const address = own.url()

    await own.crash()
    expect(await withConnection(address, sql => sql`select 1`).catch(error => error.code)).toBe(
      'ECONNREFUSED',
    )

    await own.restart()
    expect(own.url()).toBe(address)
    expect(await counted(own)).toBe(1)

    process.kill(own.pid, 'SIGKILL')
    await own.restart()
    expect(await counted(own)).toBe(1)

    await own.stop()
    expect(existsSync(own.dataDir)).toBe(false)
  })

  test('starts a server that ends, with its files removed, when the process that started it is killed', async () => {
    const script = `
        import { startCluster } from ${JSON.stringify(join(import.meta.dir, 'cluster.ts'))}
        const { dataDir, pid } = await startCluster()
        console.log(JSON.stringify({ dataDir, pid }))
        await new Promise(() => setInterval(() => {}, 1000))`
    const victim = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
    const { value } = await victim.stdout.getReader().read()
    const { dataDir } = JSON.parse(new TextDecoder().decode(value)) as { dataDir: string }
    expect(existsSync(dataDir)).toBe(true)
    victim.kill('SIGKILL')
    await until('the files of the server are removed', () => !existsSync(dataDir), 30_000)
  })
})
