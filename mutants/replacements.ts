import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import type { Change } from './mutant.ts'
import { type Parts, partsOf, rangeOf, startOf } from './nodes.ts'

const OTHER: Record<string, string> = {
  '===': '!==',
  '!==': '===',
  '==': '!=',
  '!=': '==',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
}

/** The change of an operator to its opposite or to a similar one. */
export function otherOperator({ left, operatorToken, right }: Parts, of: (node: Node) => string): Change[] {
  const operator = of(operatorToken)
  const after = OTHER[operator]
  const joinsTexts = operator === '+' && [left, right].some(side => /^['"`]/.test(of(side)))
  return after === undefined || joinsTexts ? [] : [{ ...rangeOf(operatorToken), after }]
}

/** Methods whose calls are left out: `text.trim()` becomes `text`. */
const LEFT_OUT =
  /^(?:trim|toLowerCase|toUpperCase|filter|replace|replaceAll|slice|toWellFormed|reverse|sort|catch)$/

/** Methods that become their opposite. */
const OPPOSITE: Record<string, string> = { every: 'some', some: 'every', min: 'max', max: 'min' }

/** The replacements of a method call, which ends at `end`. */
export function otherCalls(called: Node, text: string, end: number): string[] {
  if (called.kind !== SyntaxKind.PropertyAccessExpression) return []
  const { expression: on, name } = partsOf(called)
  const receiver = text.slice(startOf(on), on.end)
  const method = text.slice(startOf(name), name.end)
  const opposite = OPPOSITE[method]
  if (opposite) return [`${receiver}.${opposite}${text.slice(name.end, end)}`]
  return LEFT_OUT.test(method) ? [receiver] : []
}

/** The replacements of a regular expression: without an anchor, a flag or a quantifier, or with a wider class. */
export function otherExpressions(source: string): string[] {
  const end = source.lastIndexOf('/')
  const [body, flags] = [source.slice(1, end), source.slice(end + 1)]
  const withoutFlag = (flag: string) => `/${body}/${flags.replace(flag, '')}`
  const others = [
    `/${body.replace(/^\^/, '')}/${flags}`,
    `/${body.replace(/\$$/, '')}/${flags}`,
    withoutFlag('i'),
    withoutFlag('g'),
    `/${body.replace(/(?<!\[)\+/, '')}/${flags}`,
    `/${body.replace(/(?<!\[)\*/, '+')}/${flags}`,
    `/${body.replace('\\d', '\\w')}/${flags}`,
  ]
  return others.filter(other => other !== source)
}
