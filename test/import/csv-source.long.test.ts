import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Failure } from '../../src/errors.ts'
import { openSource } from '../../src/import/source.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { csvOf, FILES, folderOf } from './csv-files.ts'

afterAll(cleanUp)

const failure = async (path: string): Promise<string> => {
  try {
    const source = openSource(path)
    for await (const _ of source.read(() => {}));
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
  return 'nothing was thrown'
}

describe('a folder of CSV files', () => {
  test('is refused if it has none of the five files', async () => {
    const names = 'organizations.csv, products.csv, users.csv, assessments.csv, assessment_parts.csv'
    const folder = folderOf({ 'readme.txt': '' })
    expect(await failure(folder)).toBe(`the folder ${folder} has none of ${names}`)
  })

  test('is refused wherever a .gz file is cut off', async () => {
    const { 'users.csv': users } = FILES
    const gzip = gzipSync(users)
    for (let length = 0; length < gzip.length; length += 1)
      expect(await failure(folderOf({ 'users.csv.gz': gzip.subarray(0, length) }))).toMatch(
        /damaged|is empty|no column /,
      )
  })

  test('reports the unknown columns of each file, and the unknown files', async () => {
    const source = openSource(
      folderOf({
        'users.csv': `firstname,Mail\x1b[2J,deleted,,${csvOf('users.csv')}`,
        'assessments.csv': `parts,type,${csvOf('assessments.csv')}`,
        'assessment_parts.csv': 'assessment_id,id,position,name,certified_at,proctor_id,a,b,c,d,e,f,g\n',
        'notes.txt': '',
        'x\x1b[2J': '',
      }),
    )
    for await (const _ of source.read(() => {}));
    expect(source.notes()).toEqual([
      expect.stringMatching(/^ignored (notes\.txt, x\?\[2J|x\?\[2J, notes\.txt)$/),
      'unknown in users.csv, and ignored: firstname, mail?[2j',
      'unknown in assessments.csv, and ignored: parts, type',
      'unknown in assessment_parts.csv, and ignored: a, b, c and 4 more',
    ])
  })

  const USERS = csvOf('users.csv').trim()
  const COLUMNS = 'its first row must name the columns'
  const ALL = 'its first row must name all columns, with commas between them'
  const UNCLOSED = 'the quote that begins here is not closed, or a quote inside its cell is not doubled'
  const STRAY =
    'a quote stands in a cell that does not begin with one: put the cell in quotes, and double the quote'
  const SEPARATES = (what: string) => `separates its columns with ${what}: save it with commas`
  const MARK = 'begins with a byte order mark: remove the first three bytes of the line'
  test.each([
    ['lacks a column', USERS.replace('email', 'mail'), `has no column email: ${ALL}`],
    [
      'lacks several columns',
      USERS.replace('id,name', 'name').replace(',seid', ''),
      `has no column id, seid: ${ALL}`,
    ],
    ['has semicolons', USERS.replaceAll(',', ';'), SEPARATES('semicolons')],
    ['has semicolons and quotes', '"id";"name"\n1;"a"', SEPARATES('semicolons')],
    ['has tabs', `\n${USERS.replaceAll(',', '\t')}\r\n1\ta`, SEPARATES('tabs')],
    ['begins with two byte order marks', `\ufeff\ufeff${USERS}`, `line 1: ${MARK}`],
    ['has a column twice', `${USERS},Name\n`, 'has the column name more than once'],
    ['has an odd column twice', `${USERS},a\tb\x1b,A\tb\x1b\n`, 'has the column a?b? more than once'],
    ['has no header', '', `is empty: ${COLUMNS}`],
    ['does not close a quote', csvOf('users.csv', '1,a', '2,"Ana', '3,b'), `line 3: ${UNCLOSED}`],
    ['closes a quote lines later', csvOf('users.csv', '1,a', '2,"Ana', '3,"b"'), `line 3: ${UNCLOSED}`],
    ['does not close the second quote', csvOf('users.csv', '1,"a\r\nb\rc","d\ne'), `line 4: ${UNCLOSED}`],
    ['does not close a quote before CR', csvOf('users.csv', '1,a\r\r2,"Ana\r3,b'), `line 4: ${UNCLOSED}`],
    ['ends with a quote that begins', csvOf('users.csv', '1,"'), `line 2: ${UNCLOSED}`],
    ['does not double a quote', csvOf('users.csv', '1,"A"na'), `line 2: ${UNCLOSED}`],
    ['has a quote inside a cell', csvOf('users.csv', '1,A"na'), `line 2: ${STRAY}`],
  ])('is refused when a file %s', async (_, content, message) => {
    expect(await failure(folderOf({ 'users.csv': content }))).toBe(`users.csv ${message}`)
  })

  test('given as a file is refused with the folder that it needs, also without the ending of its name', async () => {
    const folder = folderOf({
      'users.csv': USERS,
      'odd.csv.gz': gzipSync('first name;…'),
      people: '"id";"name"\n',
    })
    for (const name of ['users.csv', 'odd.csv.gz', 'people'])
      expect(await failure(`${folder}/${name}`)).toBe(
        `${folder}/${name} seems to be CSV, which is loaded as a folder: put it into a folder as one of organizations.csv, products.csv, users.csv, assessments.csv, assessment_parts.csv, and import the folder`,
      )
  })

  test('is refused with the file and line if a file is not UTF-8 or its gzip data is damaged', async () => {
    const latin1 = Buffer.from(csvOf('users.csv', '1,Zo\xeb'), 'latin1')
    expect(await failure(folderOf({ 'users.csv': latin1 }))).toStartWith(
      'users.csv line 2: a character is not UTF-8: ',
    )
    const cut = gzipSync(csvOf('users.csv', '1,x')).subarray(0, -6)
    expect(await failure(folderOf({ 'users.csv.gz': cut }))).toMatch(
      /^users\.csv\.gz line \d: the gzip data is damaged/,
    )
  })

  test('that expands to one huge row is inflated only up to the limit of a row', async () => {
    const small = await reading(folderOf({ 'users.csv.gz': gzipSync(csvOf('users.csv')) }))
    const large = await reading(
      folderOf({ 'users.csv.gz': gzipSync(csvOf('users.csv', '0'.repeat(200_000_000))) }),
    )
    expect(large.refusal).toMatch(
      /^users.csv.gz line \d+: a row longer than 1048576 characters: is a closing quote missing\?$/,
    )
    expect((large.memory - small.memory) / 1e6).toBeLessThan(100)
  })

  test('is refused if it has the same file twice', async () => {
    const folder = folderOf({ 'users.csv': 'id,name\n', 'Users.CSV.gz': 'id,name\n' })
    expect(await failure(folder)).toBe(`the folder ${folder} has users.csv more than once: keep one`)
  })

  test('ignores with a note what else lies there, whatever it is', async () => {
    const folder = folderOf({ 'users.csv': csvOf('users.csv', '1,a') })
    symlinkSync('nowhere', join(folder, 'a-link'))
    symlinkSync('b-loop', join(folder, 'b-loop'))
    mkdirSync(join(folder, 'c-folder'))
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/d-`), Buffer.from([0xff])]), '')
    const source = openSource(folder)
    let rows = 0
    for await (const batch of source.read(() => {})) rows += batch.length
    expect(rows).toBe(1)
    expect(source.notes()).toEqual([expect.stringMatching(/^ignored .*, .*, .* and 1 more$/)])
  })

  test('is refused if one of its files is a link that leads nowhere, a loop or a folder', async () => {
    const refusal = async (make: (path: string) => void) => {
      const folder = folderOf({ 'products.csv': 'id,name\n' })
      make(join(folder, 'users.csv'))
      return (await failure(folder)).replace(folder, '')
    }
    expect(await refusal(path => symlinkSync('nowhere', path))).toBe(
      'cannot read /users.csv: there is no such file',
    )
    expect(await refusal(path => symlinkSync('users.csv', path))).toBe(
      'cannot read /users.csv: it is a link that leads to itself',
    )
    expect(await refusal(path => mkdirSync(path))).toBe('cannot read /users.csv: it is a folder')
  })

  test('is refused if a .gz file is several gzip files in one', async () => {
    const bytes = Buffer.concat([gzipSync(csvOf('users.csv')), gzipSync('1,a\n')])
    expect(await failure(folderOf({ 'users.csv.gz': bytes }))).toBe(
      'users.csv.gz is several gzip files in one, and nobody can tell whether one is missing: make it one: gunzip -c users.csv.gz | gzip > whole.csv.gz',
    )
  })

  test('is read without rows that have no value, and with the right lines after them', async () => {
    const rows = ['1,a,,,,,', ',,,,,,', ' , ', '', '\r2,b,,,,,\r', '\t', ',,,,,,,,', '"",""', '   ']
    const source = openSource(folderOf({ 'users.csv': csvOf('users.csv') + rows.join('\n') }))
    const lines: unknown[] = []
    for await (const batch of source.read(() => {}))
      lines.push(...batch.map(({ line, text }) => [line, text]))
    expect(lines).toEqual([
      [2, '1,a,,,,,'],
      [7, '2,b,,,,,'],
    ])
  })

  test('is refused if it is still a zip', async () => {
    const path = join(emptyFolder(), 'export.zip')
    for (const bytes of ['PK\x03\x04 and the files', 'PK\x05\x06 and no file']) {
      writeFileSync(path, bytes)
      expect(await failure(path)).toBe(`${path} is a zip: unzip it, and import the folder`)
    }
  })

  test.each([
    ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
    ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]],
    ['bzip2', [0x42, 0x5a, 0x68, 0x39]],
  ])('is refused by name if it is compressed with %s', async (name, bytes) => {
    const path = join(emptyFolder(), 'export')
    writeFileSync(path, Buffer.from(bytes))
    expect(await failure(path)).toBe(`${path} is compressed with ${name}: decompress it, or use gzip`)
  })
})

/**
 * Reads a source in a separate process. Returns the reason for the refusal and the memory of the process in
 * bytes.
 */
async function reading(path: string): Promise<{ refusal?: string; memory: number }> {
  const script = `
    import { openSource } from ${JSON.stringify(join(import.meta.dir, '../../src/import/source.ts'))}
    const source = openSource(${JSON.stringify(path)})
    const read = async () => { for await (const _ of source.read(() => {})); }
    const refusal = await read().catch(error => error.message)
    console.log(JSON.stringify({ refusal, memory: process.memoryUsage.rss() }))`
  return await Bun.$`${process.execPath} -e ${script}`.json()
}
