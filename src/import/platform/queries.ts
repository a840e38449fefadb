import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../errors.ts'
import { TABLE_OF, TYPES, type Type } from '../source-rows.ts'
import { LINE_BREAK } from '../text.ts'

/** A query on the platform's database: one select that gives the rows of a type. */
export interface Query {
  /** The name of its file. */
  file: string
  type: Type
  text: string
  /** SHA-256 of the text. After a change of the text, everything is read again. */
  digest: string
}

/** The queries of a folder, in the order in which they are read. */
export interface Queries {
  folder: string
  queries: Query[]
  /** Other files that end in .sql. */
  others: string[]
}

/**
 * Reads organizations.sql, products.sql, users.sql, assessments.sql and assessment_parts.sql, if they exist.
 * @throws Failure when none of them is there, or one cannot be read or is empty
 */
export function readQueries(folder: string): Queries {
  const names = filesOf(folder).filter(name => name.endsWith('.sql'))
  const known = TYPES.map(type => ({ file: `${TABLE_OF[type]}.sql`, type }))
  const queries = known
    .filter(({ file }) => names.includes(file))
    .map(({ file, type }) => ({ file, type, ...readQuery(join(folder, file), file) }))
  const files = known.map(({ file }) => file)
  if (queries.length === 0) throw new Failure(`the folder ${folder} has none of ${files.join(', ')}`)
  return { folder, queries, others: names.filter(name => !files.includes(name)) }
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    throw new Failure(
      `--queries names ${folder}, which cannot be read as a folder (${(error as { code?: string }).code})`,
    )
  }
}

function readQuery(path: string, file: string): Pick<Query, 'text' | 'digest'> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Failure(`${file} cannot be read (${(error as { code?: string }).code})`)
  }
  if (withoutEnd(text) === '') throw new Failure(`${file} is empty: write a select into it`)
  return { text, digest: createHash('sha256').update(text).digest('hex') }
}

/** The text before and after a query, which has lines of its own. */
const BEFORE = 'copy (\n'
const AFTER = '\n) to stdout (format csv, header)'

/** The statement that gives the rows of a query as CSV. */
export const rowsStatement = ({ text }: Query): string => BEFORE + withoutEnd(text) + AFTER

/**
 * What SQL is made of, as far as a semicolon may stand in it: texts, names, comments, blanks, and any other character. A
 * comment in a block is only its beginning.
 */
const TOKENS = /'[^']*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|(?<blank>--[^\r\n]*|\/\*|\s+)|[\s\S]/g

/** The text without the semicolons at its end, which would end the statement around it. Comments may stand after them. */
function withoutEnd(text: string): string {
  const tokens = tokensOf(text.replace(/^\ufeff+/, ''))
  const last = tokens.findLastIndex(({ token, isBlank }) => token !== ';' && !isBlank)
  if (last === -1) return ''
  return tokens.map(({ token }, index) => (index > last && token === ';' ? '' : token)).join('')
}

function tokensOf(text: string): { token: string; isBlank: boolean }[] {
  const tokens = []
  for (let at = 0; at < text.length; ) {
    TOKENS.lastIndex = at
    const { 0: begun, groups } = TOKENS.exec(text) as RegExpExecArray
    const token = begun === '/*' ? text.slice(at, endOfBlock(text, at)) : begun
    tokens.push({ token, isBlank: groups?.blank !== undefined })
    at += token.length
  }
  return tokens
}

/** Where the comment in a block ends that begins at an index. Such comments may be nested. */
function endOfBlock(text: string, from: number): number {
  let depth = 0
  for (const { 0: mark, index } of text.slice(from).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1
    if (depth === 0) return from + index + mark.length
  }
  return text.length
}

/**
 * The line of a query's file at which an error stands.
 * @param statement that of rowsStatement()
 * @param position in characters of the statement from 1 on, as Postgres counts
 */
export function lineAt({ text }: Query, statement: string, position: number): number | undefined {
  const before = [...statement].slice(0, position - 1).join('')
  // The query begins on the second line.
  const line = before.split(LINE_BREAK).length - 1
  return line >= 1 && line <= text.split(LINE_BREAK).length ? line : undefined
}
