import type { Change } from './mutant.ts'
import { more, RULES, type Rule } from './sql-rules.ts'

/** Functions whose calls are replaced by their first argument. */
const UNWRAPPED = /\b(?:coalesce|lower|btrim|translate|search_folded|quote_ident|floor|convert_to)\(/g

/**
 * The changes of an SQL text: a migration, or a part of a statement. Indexes and planner settings are not changed,
 * because no answer depends on them.
 */
export function sqlChanges(sql: string): Change[] {
  const code = codeOf(sql)
  return [
    ...RULES.flatMap(rule => byRule(code, rule)),
    ...[...code.matchAll(UNWRAPPED)].flatMap(match => unwrapped(sql, code, match)),
    ...withoutAnEvent(code),
    ...columns(code),
    ...strings(sql, code),
  ]
}

function byRule(code: string, [pattern, ...replacements]: Rule): Change[] {
  return [...code.matchAll(pattern)].flatMap(({ index, 0: found }) =>
    replacements.map(to => ({
      start: index,
      end: index + found.length,
      after: typeof to === 'string' ? to : to(found),
    })),
  )
}

/** `coalesce(a, b)` becomes `(a)`. */
function unwrapped(sql: string, code: string, { 0: name, index }: RegExpExecArray): Change[] {
  const from = index + name.length
  let depth = 1
  let comma = -1
  for (let at = from; at < code.length; at++) {
    if (code[at] === '(') depth++
    if (code[at] === ')') depth--
    if (code[at] === ',' && depth === 1 && comma < 0) comma = at
    const end = comma < 0 ? at : comma
    if (depth === 0) return [{ start: index, end: at + 1, after: `(${sql.slice(from, end)})` }]
  }
  return []
}

/** The changes of a trigger that leave out one event. */
function withoutAnEvent(code: string): Change[] {
  const event = '(?:insert|update|delete|truncate)'
  return [...code.matchAll(new RegExp(`\\b${event}(?: or ${event})+`, 'g'))].flatMap(({ 0: list, index }) => {
    const events = list.split(' or ')
    const without = (left: string) => events.filter(one => one !== left).join(' or ')
    return events.map(left => ({ start: index, end: index + list.length, after: without(left) }))
  })
}

/** Swaps two columns of a list or leaves one out; gives a column of a view the value of the next one. */
function columns(code: string): Change[] {
  const name = '[a-z_]+(?:\\.[a-z_]+)?'
  const pairs = new RegExp(`(?<=[(,]\\s*|select |distinct )(?=(${name}),(\\s+)(${name})(?=[,)\\s]))`, 'g')
  const swapped = [...code.matchAll(pairs)].map(({ index, 1: one = '', 2: gap = '', 3: other = '' }) => ({
    start: index,
    end: index + `${one},${gap}${other}`.length,
    after: `${other},${gap}${one}`,
  }))
  const items = new RegExp(`,\\s+${name}(?=[,)])`, 'g')
  const dropped = [...code.matchAll(items)].map(({ index, 0: text }) => ({
    start: index,
    end: index + text.length,
    after: '',
  }))
  const values = new RegExp(`(${name})(?= as [a-z_]+,\\s+(${name}) as )`, 'g')
  const taken = [...code.matchAll(values)].map(({ index, 1: one = '', 2: other = '' }) => ({
    start: index,
    end: index + one.length,
    after: other,
  }))
  return [...swapped, ...dropped, ...taken]
}

/** Replaces a quoted word by another one, an interval by a longer one, and other texts by an empty one. */
function strings(sql: string, code: string): Change[] {
  return [...sql.matchAll(/'([^'\n]*)'/g)]
    .filter(({ index }) => code[index] === "'")
    .flatMap(({ index, 0: text, 1: inner = '' }) => {
      const change = (after: string) => [{ start: index, end: index + text.length, after: `'${after}'` }]
      if (/^\d+ \w+$/.test(inner)) return change(inner.replace(/^\d+/, more))
      if (/^[A-Za-z_]+$/.test(inner)) return change('other')
      return inner.includes(' ') ? [] : change(inner === '' ? 'x' : '')
    })
}

/** The SQL with blanks in place of comments, strings and clauses that decide no answer. */
function codeOf(sql: string): string {
  const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ')
  const hidden =
    /--[^\n]*|'[^']*'|\bcreate index [^;]*;|\banalyze [^;]*;|\brows \d+|\bset (?:plan_cache_mode|jit) = \w+|\bselect set_config[^;]*;/g
  return sql.replaceAll(hidden, text => {
    // A string that is the format of a statement is code.
    if (text.startsWith("'") && text.includes('create trigger')) return text
    return text.startsWith("'") ? `'${blank(text.slice(1, -1))}'` : blank(text)
  })
}
