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
 * What a user sends must never be part of an SQL text. The tags of postgres.js and drizzle see to that: what
 * stands in `${}` becomes a parameter. This test finds the ways around the tags, in the syntax tree, and holds
 * them to a list: what is put into a text there, and why it cannot be a user's.
 */

const ROOT = join(import.meta.dir, '..', '..')

/** The ways around: unsafe() of postgres.js; where drizzle is imported, also its raw(). */
const doorsOf = (file: SourceFile) => (file.text.includes("'drizzle-orm") ? ['unsafe', 'raw'] : ['unsafe'])

/** By file: what is put into texts, each once, in the order of the alphabet. */
const ALLOWED: Record<string, { why: string; parts: string[] }> = {
  'src/postgres/statement.ts': {
    why: 'what drizzle makes of a sql`` template, its values as parameters',
    parts: ['compiled.sql'],
  },
  'src/postgres/connection/wire.ts': {
    why: 'the statement that it is given by whoever has it from one of the places here',
    parts: ['text'],
  },
  'src/http/admin/database-checks.ts': { why: 'constants', parts: [] },
  'src/doctor/connection-checks.ts': { why: 'a constant', parts: [] },
  'src/postgres/pool/serving-database.ts': { why: 'a constant', parts: [] },
  'src/postgres/schema/migrate.ts': {
    why: 'the migrations, which are part of the program',
    parts: ['migration.sql'],
  },
  'src/postgres/standby/replayed.ts': { why: 'a constant', parts: ['LOOK'] },
  'src/postgres/read-only.ts': { why: 'a constant', parts: [] },
  'src/postgres/schema/schema-record.ts': { why: 'constants', parts: ['text'] },
  'src/postgres/privileges/grant.ts': {
    why: 'statements that Postgres wrote itself with format(%I)',
    parts: ['statement'],
  },
  'src/backup/statements.ts': {
    why: 'names of tables from the constant KEPT, and of columns and types that Postgres wrote from its catalog',
    parts: [
      "arrays.join(', ')",
      'isAfter',
      'keys',
      'last',
      "literals.join(', ')",
      'most',
      'names',
      'table',
      'values',
    ],
  },
  'src/postgres/schema/bulk.ts': {
    why: 'statements that Postgres wrote itself, from its catalog with format(%I)',
    parts: ['drop', 'restore'],
  },
  'src/import/apply.ts': {
    why: 'names of tables and columns, from the constants TABLE_OF and TABLES; ids are parameters',
    parts: [
      'TABLES[type].name',
      'changed',
      "isEmpty ? '' : conflict",
      'key',
      "listed('')",
      "listed('i.')",
      'table',
    ],
  },
  'src/import/changes.ts': {
    why: 'names of tables and columns, from the constants TABLE_OF, TABLES and FIELDS; no values',
    parts: ['counts', 'differing(type)', 'table', "type === 'assessment' ? BY_PARTS : ''"],
  },
  'src/import/import.ts': {
    why: 'names of tables, the keys of a summary',
    parts: ["changed.join(', ')"],
  },
  'src/import/rejects.ts': {
    why: 'names of tables from the constants TABLE_OF and TABLES, and the checks, which are constants',
    parts: ['SYNC_PLACE', 'TABLES[type].name', "deletions.join('')", 'parts', 'problems(checking)', 'table'],
  },
  'src/import/staging.ts': {
    why: 'names of tables and columns from the constant TABLES; values are parameters',
    parts: ['TABLES[type].name', "columns.join(', ')", 'text'],
  },
  'src/import/prepare.ts': {
    why: 'names of types, tables and columns, and defaults, all of them constants',
    parts: [
      'TABLE_OF[type]',
      'assessmentOf(type)',
      'columns',
      "defaults.join(', ')",
      'isNull(columns)',
      'isNull(required)',
      'isOwnRecord',
      'missing',
      'name',
      "stored.join(', ')",
      'type',
      "type === 'assessment' ? 'r.user_id' : 'null::bigint'",
    ],
  },
  'src/import/sync.ts': {
    why: 'names of tables from the constants TABLE_OF and TABLES',
    parts: ['name', 'parts', 'table'],
  },
}

/** A place where a door is mentioned: what goes through it, or undefined for what is no plain call. */
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
  const doors = doorsOf(file)
  const visit = (node: Node) => {
    // Also as a string, as in sql['unsafe'].
    if (
      (isIdentifier(node) || isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) &&
      doors.includes(node.text)
    ) {
      const { parent } = node
      // What takes a text under this name: it is the callers that are looked at.
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

/** The expressions in a template; nothing for a constant; any other expression whole. */
function partsOf(text: Node, file: SourceFile): string[] {
  if (isStringLiteral(text) || isNoSubstitutionTemplateLiteral(text)) return []
  const expressions = isTemplateExpression(text) ? text.templateSpans.map(span => span.expression) : [text]
  return expressions.map(expression => expression.getText(file).replaceAll(/\s+/g, ' '))
}

describe('SQL', () => {
  test('is put together from text in these places alone, and from these parts', () => {
    const found = Object.entries(mentions).map(([path, list]) => [
      path,
      [...new Set(list.flatMap(({ parts }) => parts ?? []))].sort(),
    ])
    const allowed = Object.entries(ALLOWED).map(([path, { parts }]) => [path, parts])
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(allowed))
  })

  test('goes around the tags in plain calls only, whose text can be seen', () => {
    const hidden = Object.entries(mentions).flatMap(([path, list]) =>
      list.filter(({ parts }) => parts === undefined).map(({ line }) => `${path}:${line}`),
    )
    expect(hidden).toEqual([])
  })

  test('is never put together where requests are answered', () => {
    const paths = Object.entries(ALLOWED)
      .filter(([path]) => /^src\/(http|oauth|assessments|integrations|doctor)\//.test(path))
      .filter(([, { parts }]) => parts.length > 0)
    expect(paths).toEqual([])
  })
})
