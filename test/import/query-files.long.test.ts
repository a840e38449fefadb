import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lineAt, readQueries, rowsStatement } from '../../src/import/platform/queries.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { useDatabase } from '../support/import.ts'

afterAll(cleanUp)

describe('the file of a query', () => {
  const database = useDatabase()

  function read(text: string) {
    const folder = emptyFolder()
    writeFileSync(join(folder, 'products.sql'), text)
    const [query] = readQueries(folder).queries
    if (!query) throw new Error('there is no query')
    return query
  }

  /** What Postgres answers to the statement, as rows and not as CSV. */
  async function answer(text: string) {
    const statement = rowsStatement(read(text))
    const select = statement.replace(/^copy \(/, 'select * from (').replace(/\) to stdout [^)]*\)$/, ') as q')
    return (await database.sql.unsafe(select)).map(row => Object.values(row))
  }

  test.each([
    ['no semicolon', "select ';'"],
    ['a semicolon', "select ';';"],
    ['several semicolons', "select ';';\n;"],
    ['a comment after the semicolon', "select ';'; -- all; of them"],
    ['a comment in a block after it', "select ';'; /* all;\nof them */ -- x\n"],
    ['nested comments after it', "select ';'; /* all; /* of; */ them; */ /* /**/; */"],
    ['nested comments in it', "select /* a /* b */ '; */ ';' -- /*\n;"],
    ['a comment before it', "select ';' -- x;\n;\n"],
    ['CRLF', "select\r\n';'; -- x\r\n\r\n"],
    ['CR', "select\r';'; -- x\r;\r"],
    ['a byte order mark', "\ufeffselect ';';\r\n"],
    ['two byte order marks', "\ufeff\ufeffselect ';';"],
  ])('may have %s', async (_, text) => {
    expect(await answer(text)).toEqual([[';']])
  })

  test.each([
    ['a text', "select '; -- x'", '; -- x'],
    ['a text between dollars', 'select $a$; /* x */$a$', '; /* x */'],
    ['the name of a column', `select q."; --" from (select 1 as "; --") as q`, 1],
  ])('keeps a semicolon in %s, whatever follows it there', async (_, text, value) => {
    expect(await answer(text)).toEqual([[value]])
  })

  test.each(['\n', '\r\n', '\r'])('has its lines counted by %j', lineBreak => {
    const query = read(`\ufeffselect 1,${lineBreak}${lineBreak}x;`)
    const statement = rowsStatement(query)
    expect(lineAt(query, statement, statement.indexOf('x') + 1)).toBe(3)
  })

  test.each(['', ' \r\n', ';', '\ufeff;', '; -- nothing', '/* a /* b */ c */;'])(
    'is refused if it has no query: %j',
    text => {
      expect(() => read(text)).toThrow('products.sql is empty: write a select into it')
    },
  )
})
