import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { emptyDatabase } from '../support/cluster.ts'
import { axport, cleanUp, emptyFolder } from '../support/executable.ts'

afterAll(cleanUp)

describe('a load from the command line', () => {
  let env: Record<string, string>
  let drop: () => Promise<unknown>
  beforeAll(async () => {
    const database = await emptyDatabase()
    env = { DATABASE_URL: database.url }
    drop = database.drop
    await axport(['migrate', '--time-zone', 'Europe/Berlin'], { env })
  })
  afterAll(() => drop())

  const ORGANIZATIONS = 'id,name\n10,Lakeside\n'

  test('of a folder with odd neighbours loads its file and notes the others', async () => {
    const folder = emptyFolder()
    writeFileSync(join(folder, 'organizations.csv'), `${ORGANIZATIONS},\n  \n`)
    symlinkSync('nowhere', join(folder, 'latest'))
    mkdirSync(join(folder, 'old'))
    const loaded = await axport(['import', folder], { env })
    expect(loaded).toMatchObject({ code: 0, stdout: expect.stringMatching(/^loaded 1 line\n/) })
    expect(loaded.stdout + loaded.stderr).toMatch(/ignored (latest, old|old, latest)/)
  })

  test('of a damaged file says what is wrong in one line, and loads nothing', async () => {
    const folder = emptyFolder()
    const path = join(folder, 'organizations.csv.gz')
    writeFileSync(path, Buffer.concat([gzipSync('id,name\n11,Seaside\n'), Buffer.alloc(4)]))
    const refused = await axport(['import', folder], { env })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(
      'organizations.csv.gz is damaged: other bytes follow its gzip data: fetch or make the file again\n',
    )
    writeFileSync(path, gzipSync(ORGANIZATIONS))
    expect((await axport(['import', folder], { env })).stdout).toMatch(/^organizations +0 +0 +1 +0$/m)
  })

  test('of days is followed by a migrate that says how many keep their day in another time zone', async () => {
    const folder = emptyFolder()
    const files = {
      'products.csv': 'id,name\n1,Reading\n',
      'users.csv': 'id,name,first_name,last_name,email,seid,record_status\n5,Ana,,,,,\n',
      'organizations.csv': ORGANIZATIONS,
      'assessments.csv':
        'id,user_id,organization_id,product_id,certified_at,legacy_record,proctor_id\n1,5,10,1,2026-03-01,,5\n2,5,10,1,2026-03-01T12:00:00Z,,5\n',
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    expect(await axport(['import', folder], { env })).toMatchObject({ code: 0 })
    expect((await axport(['migrate', '--time-zone', 'America/Chicago'], { env })).stdout).toBe(
      'the schema is up to date\nthe time zone is now America/Chicago\nassessments and parts that were completed at a midnight, as days are, and keep their day: 1\n',
    )
    const again = await axport(['import', folder], { env })
    expect(again.stdout).toMatch(/^assessments +0 +0 +2 +0$/m)
  })
})
