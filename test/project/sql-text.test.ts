import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Node, SourceFile } from 'typescript/unstable/ast'
import {
  isCallExpression,
  isIdentifier,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isNoSubstitutionTemplateLiteral,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isStringLiteral,
  isTemplateExpression,
} from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/async'

/**
 * Input of users must never be part of an SQL text. The template tags of postgres.js and drizzle make a parameter of
 * each `${}`. This test finds the calls that bypass the tags in the syntax tree, and compares them with a list: the
 * expressions in each text, and the reason for which they cannot contain user input.
 */

const ROOT = join(import.meta.dir, '..', '..')

/** The methods that bypass the tags: unsafe() of postgres.js, and raw() in files that import drizzle. */
const bypassesOf = (file: SourceFile) => (file.text.includes("'drizzle-orm") ? ['unsafe', 'raw'] : ['unsafe'])

/** The expressions in SQL texts by file, each once, in alphabetical order. */
const ALLOWED: Record<string, { why: string; parts: string[] }> = {
  'src/database/statement.ts': {
    why: 'the statement that drizzle made of a sql`` template, with its values as parameters',
    parts: ['compiled.sql'],
  },
  'src/database/orm.ts': {
    why: 'the statements that drizzle made, with their values as parameters',
    parts: ['text'],
  },
  'src/database/client.ts': {
    why: 'statements from the other files of this list',
    parts: ['text'],
  },
  'src/database/pool.ts': { why: 'constants', parts: ['text'] },
  'src/database/server.ts': {
    why: 'constants, with the ids of server processes, which are numbers',
    parts: ['STATE', 'activityOf(pids)'],
  },
  'src/database/migrate.ts': {
    why: 'the migrations, which are part of the program',
    parts: ['migration.sql'],
  },
  'src/database/schema-record.ts': { why: 'constants', parts: ['text'] },
  'src/database/grants.ts': {
    why: 'db/grants, which is part of the program, with names that Postgres quoted itself with quote_ident() and quote_literal()',
    parts: ['withNames(work.script, await namesFor(client, role))'],
  },
  'src/import/bulk.ts': {
    why: 'statements that Postgres wrote itself, from its catalog with format(%I)',
    parts: ['drop', 'restore'],
  },
  'src/import/write.ts': {
    why: 'names of tables and columns, from the constants TABLE_OF and FIELDS; ids are parameters',
    parts: ['changed', 'columns', 'conflict', 'key', "listColumns(type, 'i.')", 'table'],
  },
  'src/import/changes.ts': {
    why: 'names of tables and columns, from the constants TABLE_OF and FIELDS; values are parameters',
    parts: [
      'CHANGED_BY_PARTS',
      'areEqual(type)',
      'table',
      "type === 'part' ? countsOfParts : countsOf(type)",
    ],
  },
  'src/import/indexes.ts': {
    why: 'names of tables and columns, from the constant JOINED',
    parts: ["indexes.join(';')"],
  },
  'src/import/rejects.ts': {
    why: 'names of tables from the constant TABLE_OF, and the checks, which are constants',
    parts: ["deletions.join('')", 'found', 'parts', 'step', 'table'],
  },
  'src/import/removals.ts': {
    why: 'names of tables from the constant TABLE_OF, and clauses, which are constants; values are parameters',
    parts: ['LOST', 'from', 'parts', 'table'],
  },
  'src/import/stage.ts': {
    why: 'names of tables and columns from the constants COLUMNS and FIELDS; values are parameters',
    parts: ['FORMAT', 'NAMES[table]', 'list', 'table'],
  },
  'src/import/prepare.ts': {
    why: 'names of types, tables and columns, all of them constants',
    parts: [
      'assessmentOf(type)',
      'educatorOf(type)',
      'isOwnRow(type)',
      "listColumns(type, 'r.')",
      'repeatedIds(type)',
      'table',
      'type',
      "type === 'assessment' ? PARTS : ''",
    ],
  },
}

/** A mention of such a method: the argument of the call, or undefined if the mention is not a plain call. */
interface Mention {
  line: number
  parts: string[] | undefined
}

let api: API
const mentions: Record<string, Mention[]> = {}

beforeAll(async () => {
  api = new API({ cwd: ROOT })
  const snapshot = await api.updateSnapshot({ openProjects: [join(ROOT, 'tsconfig.json')] })
  const project = snapshot.getProjects()[0]
  for (const path of [...new Bun.Glob('src/**/*.ts').scanSync(ROOT)].sort()) {
    const file = await project?.program.getSourceFile(join(ROOT, path))
    if (!file) throw new Error(`the compiler does not know ${path}`)
    const found = mentionsIn(file)
    if (found.length > 0) mentions[path] = found
  }
}, 60_000)
afterAll(() => api.close())

function mentionsIn(file: SourceFile): Mention[] {
  const found: Mention[] = []
  const doors = bypassesOf(file)
  const visit = (node: Node) => {
    // A string is a mention, too: sql['unsafe'].
    if (
      (isIdentifier(node) || isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) &&
      doors.includes(node.text)
    ) {
      const { parent } = node
      // A definition of a method with this name is no call; its calls are mentions themselves.
      if (isMethodDeclaration(parent) || isMethodSignatureDeclaration(parent) || isPropertyAssignment(parent))
        return
      const isCalled =
        isPropertyAccessExpression(parent) &&
        isCallExpression(parent.parent) &&
        parent.parent.expression === parent
      const text = isCalled ? (parent.parent as { arguments?: readonly Node[] }).arguments?.[0] : undefined
      const line = file.text.slice(0, node.pos).split('\n').length
      found.push({ line, parts: text && partsOf(text, file) })
    }
    node.forEachChild(child => {
      visit(child)
      return undefined
    })
  }
  visit(file)
  return found
}

/** The expressions in a template, none for a constant, and any other expression as a whole. */
function partsOf(text: Node, file: SourceFile): string[] {
  if (isStringLiteral(text) || isNoSubstitutionTemplateLiteral(text)) return []
  const expressions = isTemplateExpression(text) ? text.templateSpans.map(span => span.expression) : [text]
  return expressions.map(expression => expression.getText(file).replaceAll(/\s+/g, ' '))
}

describe('SQL', () => {
  test('is made from text only in the files of ALLOWED, and only from their parts', () => {
    const found = Object.entries(mentions).map(([path, list]) => [
      path,
      [...new Set(list.flatMap(({ parts }) => parts ?? []))].sort(),
    ])
    const allowed = Object.entries(ALLOWED).map(([path, { parts }]) => [path, parts])
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(allowed))
  })

  test('bypasses the tags only in plain calls', () => {
    const hidden = Object.entries(mentions).flatMap(([path, list]) =>
      list.filter(({ parts }) => parts === undefined).map(({ line }) => `${path}:${line}`),
    )
    expect(hidden).toEqual([])
  })

  test('is never made from expressions in code that answers requests', () => {
    const paths = Object.entries(ALLOWED)
      .filter(([path]) => /^src\/(http|oauth|assessments|integrations|doctor)\//.test(path))
      .filter(([, { parts }]) => parts.length > 0)
    expect(paths).toEqual([])
  })
})
