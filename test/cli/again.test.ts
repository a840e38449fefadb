import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { again } from '../../src/cli/again.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'

const NAMES = ['DATABASE_URL_FILE', 'CREDENTIALS_DIRECTORY']
const before = NAMES.map(name => Bun.env[name])
afterEach(() => {
  NAMES.forEach((name, at) => {
    if (before[at] === undefined) delete Bun.env[name]
    else Bun.env[name] = before[at]
  })
})
afterAll(cleanUp)

describe('the command that a refusal names', () => {
  test.each([
    [['import', '--sync', 'export'], 'axport import --max-removed 3 --sync export'],
    [['import', '--every', '1m', '--queries', 'q'], 'axport import --max-removed 3 --queries q'],
    [['import', '--every=1m', '--max-removed=1', '--queries=q'], 'axport import --max-removed 3 --queries=q'],
    [
      ['import', '--max-removed', '1', '--max-rejected', '5%', '--', '-x'],
      'axport import --max-removed 3 --max-rejected 5% -- -x',
    ],
    [['import', "Ana's export"], String.raw`axport import --max-removed 3 'Ana'\''s export'`],
  ])('after %j is %s', (args, command) => {
    delete Bun.env.DATABASE_URL_FILE
    expect(again(args, '--max-removed 3')).toBe(command)
  })

  test('under systemd has the files of the secrets, in place of copies that end with the unit', () => {
    const secrets = emptyFolder()
    for (const name of ['loader-url', 'platform-url']) writeFileSync(join(secrets, name), '')
    const copies = '/run/credentials/axport-feed.service'
    Object.assign(Bun.env, { CREDENTIALS_DIRECTORY: copies, DATABASE_URL_FILE: `${copies}/loader-url` })
    const args = ['import', '--from-file', `${copies}/platform-url`, '--queries', '/etc/axport/queries']
    expect(again(args, '--max-removed 3', secrets)).toBe(
      `DATABASE_URL_FILE=${secrets}/loader-url axport import --max-removed 3 --from-file ${secrets}/platform-url --queries /etc/axport/queries`,
    )
    for (const other of [`${copies}/own`, '/export/loader-url'])
      expect(again(['import', other], '--max-removed 3', secrets)).toEndWith(` --max-removed 3 ${other}`)
  })
})
