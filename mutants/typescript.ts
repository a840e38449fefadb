import { join } from 'node:path'
import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/async'
import type { Change, Mutant } from './mutant.ts'
import { partsOf, rangeOf, startOf } from './nodes.ts'
import { otherCalls, otherExpressions, otherOperator } from './replacements.ts'
import { sqlChanges } from './sql.ts'

/**
 * The mutants of TypeScript files, given as `paths` from `root`, a folder that is written to. The parser is that of the
 * compiler. Its unstable interface is safe to use, because package.json has the exact version.
 */
export async function mutantsOfTypeScript(root: string, paths: string[]): Promise<Mutant[]> {
  // The files are only parsed, so the configuration has no libraries and imports.
  const config = join(root, 'tsconfig.mutants.json')
  const compilerOptions = { noLib: true, noResolve: true, types: [] }
  await Bun.write(config, JSON.stringify({ compilerOptions, files: paths }))
  const api = new API({ cwd: root })
  try {
    const [project] = (await api.updateSnapshot({ openProjects: [config] })).getProjects()
    const mutants: Mutant[] = []
    for (const path of paths) {
      const file = await project?.program.getSourceFile(join(root, path))
      if (!file) throw new Error(`the compiler could not parse ${path}`)
      mutants.push(...changesIn(file, file.text).map(change => ({ path, ...change })))
    }
    return mutants
  } finally {
    await api.close()
  }
}

/** Kinds of nodes without mutants: types and imports. */
const SKIPPED = new Set([
  SyntaxKind.ImportDeclaration,
  SyntaxKind.ExportDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.TypeReference,
  SyntaxKind.LiteralType,
])

function changesIn(file: Node, text: string): Change[] {
  const changes: Change[] = []
  const visit = (node: Node): undefined => {
    if (SKIPPED.has(node.kind) || isProse(node) || isPlaceholder(node, text)) return
    changes.push(...changesOf(node, text))
    node.forEachChild(visit)
  }
  visit(file)
  return changes
}

function changesOf(node: Node, text: string): Change[] {
  const parts = partsOf(node)
  const of = (part: Node) => text.slice(startOf(part), part.end)
  const whole = (after: string): Change => ({ ...rangeOf(node), after })
  switch (node.kind) {
    case SyntaxKind.BinaryExpression:
      return otherOperator(parts, of)
    case SyntaxKind.ConditionalExpression:
      return [whole(of(parts.whenTrue)), whole(of(parts.whenFalse))]
    case SyntaxKind.IfStatement: {
      const negated = { ...rangeOf(parts.expression), after: `!(${of(parts.expression)})` }
      return [negated, whole(parts.elseStatement ? of(parts.elseStatement) : '{}')]
    }
    case SyntaxKind.WhileStatement:
      return [{ ...rangeOf(parts.expression), after: 'false' }]
    case SyntaxKind.PrefixUnaryExpression:
      return /^[!-]/.test(of(node)) ? [whole(of(parts.operand))] : []
    case SyntaxKind.NumericLiteral: {
      const value = Number(of(node).replaceAll('_', ''))
      return [whole(String(value + 1)), whole(String(value - 1))]
    }
    case SyntaxKind.BigIntLiteral:
      return [whole(`${BigInt(of(node).slice(0, -1)) + 1n}n`)]
    case SyntaxKind.TrueKeyword:
      return [whole('false')]
    case SyntaxKind.FalseKeyword:
      return [whole('true')]
    case SyntaxKind.StringLiteral:
      return [whole(parts.text === '' ? "'other'" : "''")]
    case SyntaxKind.RegularExpressionLiteral:
      return otherExpressions(of(node)).map(whole)
    case SyntaxKind.ArrayLiteralExpression:
      return parts.elements.length > 1 ? parts.elements.map(left => whole(listWithout(left))) : []
    case SyntaxKind.CallExpression:
      return otherCalls(parts.expression, text, node.end).map(whole)
    case SyntaxKind.ExpressionStatement:
      return [whole('{}')]
    case SyntaxKind.TaggedTemplateExpression:
      return of(parts.tag) === 'sql' ? inTemplate(node, text) : []
    default:
      return []
  }

  function listWithout(left: Node): string {
    const others = parts.elements.filter(one => one !== left)
    return `[${others.map(of).join(', ')}]`
  }
}

/** The changes of the SQL in a template, between its expressions. */
function inTemplate(node: Node, text: string): Change[] {
  const pieces: Node[] = []
  const visit = (child: Node): undefined => {
    if (PIECES.has(child.kind)) pieces.push(child)
    if (child.kind === SyntaxKind.TemplateExpression || child.kind === SyntaxKind.TemplateSpan)
      child.forEachChild(visit)
  }
  node.forEachChild(visit)
  return pieces.flatMap(piece => {
    const { start, end } = rangeOf(piece)
    const found = sqlChanges(text.slice(start, end))
    return found.map(change => ({ ...change, start: change.start + start, end: change.end + start }))
  })
}

const PIECES = new Set([
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
])

/** Whether a string names a value of a statement, which is invalid without the value. */
const isPlaceholder = (node: Node, text: string) =>
  node.kind === SyntaxKind.CallExpression &&
  /^(?:sql\.placeholder|value)\('/.test(text.slice(startOf(node), node.end))

/** Whether a string is prose: texts of the OpenAPI document and messages of errors. */
function isProse(node: Node): boolean {
  if (node.kind === SyntaxKind.PropertyAssignment) return partsOf(partsOf(node).name).text === 'description'
  return node.kind === SyntaxKind.StringLiteral && / .* /.test(partsOf(node).text)
}
