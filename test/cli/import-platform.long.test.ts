import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf } from '../import/csv-files.ts'
import { axport, cleanUp, emptyFolder, errorLine } from '../support/executable.ts'
import { useDatabase } from '../support/import.ts'
import { QUERIES, usePlatform } from '../support/platform-example.ts'
import { usersQuery } from '../support/platform-queries.ts'

afterAll(cleanUp)

const platform = usePlatform()
const database = useDatabase()

/** Runs an import from a platform whose URL is in a file. */
function run(queries: string, ...args: string[]) {
  const file = join(emptyFolder(), 'platform-url')
  writeFileSync(file, `${platform.url}\n`)
  const env = { DATABASE_URL: database.url }
  return axport(['import', '--from-file', file, '--queries', queries, ...args], { env })
}

test('axport import --from-file loads the platform, and prints the same summary as for a file', async () => {
  expect(await run(QUERIES, '--dry-run')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^would have loaded \d+ rows\n/),
  })
  const { code, stdout, stderr } = await run(QUERIES)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^loaded \d+ rows\n {18}inserted .*\norganizations +5 +0 +0 +0\n/)
  const again = JSON.parse((await run(QUERIES, '--json')).stdout)
  expect(again).toMatchObject({ loaded: true, assessments: { inserted: 0, updated: 0 } })
})

test('axport import --queries reads the platform of PLATFORM_URL', async () => {
  const args = ['import', '--queries', QUERIES, '--dry-run']
  const env = { DATABASE_URL: database.url, PLATFORM_URL: platform.url }
  const { code, stdout } = await axport(args, { env })
  expect([code, stdout.split('\n')[0]]).toEqual([0, expect.stringMatching(/^would have loaded \d+ rows$/)])
  const wrong = { ...env, PLATFORM_URL: platform.url.replace(/:[^:@/]+@/, '@') }
  expect(errorLine(await axport(args, { env: wrong }), 1)).toStartWith(
    'cannot reach the platform: it refuses the user or password',
  )
})

test('axport import --from-file reports an invalid query and bad rows with exit code 1', async () => {
  const wrong = folderOf({ 'users.sql': 'select person_no as id,\nname from people' })
  expect(errorLine(await run(wrong, '--feed', 'wrong'), 1)).toStartWith(
    'users.sql line 2: column "name" does not exist ',
  )
  const bad = folderOf({
    'users.sql': usersQuery('where person_no < 3 order by 1', { name: "' '" }),
  })
  expect(await run(bad, '--feed', 'bad')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'users.sql id 1: name is blank\nusers.sql id 2: name is blank\n' +
      'axport: nothing was loaded: 2 bad rows of 2, correct and import again, or load the others with --rejects FILE\n',
  })
})
