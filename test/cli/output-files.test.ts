import { afterAll, expect, test } from 'bun:test'
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { axport, cleanUp, emptyFolder, errorLine, shell } from '../support/executable.ts'
import { TWO } from './use-imports.ts'

afterAll(cleanUp)

const cwd = emptyFolder()
const at = (name: string) => join(cwd, name)
writeFileSync(at('two'), TWO)
writeFileSync(at('left.draft'), TWO)
symlinkSync('two', at('link'))
symlinkSync('nowhere', at('lost'))
writeFileSync(at('url'), 'postgres://nobody@127.0.0.1:1/none')
writeFileSync(at('secret'), 'secret')
mkdirSync(at('csv'))
writeFileSync(at('csv/users.csv'), 'id\n')
mkdirSync(at('queries'))
writeFileSync(at('queries/users.sql'), 'select')

const NOTHING = { DATABASE_URL_FILE: 'url', PLATFORM_URL: 'postgres://nobody@127.0.0.1:1/none' }
const PULL = ['pull', '--base-url', 'http://127.0.0.1:1', '--client-id', 'id', '--format', 'ndjson']
const inputs = ['two', 'left.draft', 'url', 'secret', 'csv/users.csv', 'queries/users.sql']
const textsOf = () => inputs.map(name => readFileSync(at(name), 'utf8'))
const reads = (path: string) =>
  `the command reads ${path}, and would replace it: name another file for the output`

test.each([
  ['two', ['import', 'two', '--rejects', 'two']],
  ['link', ['import', 'two', '--rejects', 'link']],
  ['two', ['import', 'link', '--rejects', 'two', '--dry-run']],
  // What an import has left beside the file that it could not replace.
  ['left', ['import', 'left.draft', '--rejects', 'left']],
  ['csv/users.csv', ['import', 'csv', '--rejects', 'csv/users.csv']],
  ['queries/users.sql', ['import', '--queries', 'queries', '--rejects', 'queries/users.sql']],
  ['secret', ['import', '--queries', 'queries', '--from-file', 'secret', '--rejects', 'secret']],
  ['url', ['import', 'two', '--rejects', 'url']],
  ['url', ['erasures', '--out', 'url']],
  ['secret', [...PULL, '--client-secret-file', 'secret', '--out', 'secret']],
])('no output replaces an input, here %s by %p', async (path, args) => {
  const before = textsOf()
  expect(errorLine(await axport(args, { cwd, env: NOTHING }), 2)).toBe(reads(path))
  expect(textsOf()).toEqual(before)
})

test('no output replaces the file that is standard input', async () => {
  const run = await shell('"$AXPORT" import - --rejects two < two', { cwd, env: NOTHING })
  expect(errorLine(run, 2)).toBe(reads('two'))
  expect(readFileSync(at('two'), 'utf8')).toBe(TWO)
})

const IS_NO_FILE = '- is no file here: name the file to write'

test.each([
  [2, IS_NO_FILE, ['import', 'two', '--rejects', '-']],
  [2, IS_NO_FILE, ['erasures', '--out', '-']],
  [1, 'cannot write lost: it is a link that leads nowhere', ['erasures', '--out', 'lost']],
  [1, 'cannot write csv: it is a folder', ['import', 'two', '--rejects', 'csv']],
  [1, 'cannot write /dev/null: it is not a file', ['import', 'two', '--rejects', '/dev/null']],
  [1, 'cannot write none/x: there is no such folder', ['import', 'two', '--rejects', 'none/x']],
] as const)('exits with %d and says %p', async (code, message, args) => {
  const before = readdirSync(cwd)
  expect(errorLine(await axport([...args], { cwd, env: NOTHING }), code)).toBe(message)
  expect(readdirSync(cwd)).toEqual(before)
  expect(lstatSync(at('lost')).isSymbolicLink()).toBe(true)
})
