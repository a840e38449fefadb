// Writes the table of the contract's rules, with the tests that hold each rule, into test/README.md.
import { basename, join } from 'node:path'
import { RULES, type Rule } from '../test/contract/rules.ts'

const START = '<!-- rules -->'
const END = '<!-- /rules -->'

/** A test or a group of tests below a comment `// rule: …`, which names the rules that the test holds. */
export interface Holder {
  /** Path from `test/`. */
  file: string
  /** The name with the names of the groups around it, as a test run prints them. */
  name: string
  rules: string[]
}

/** Every test and group in the test files below `root` that has a comment `// rule: …` above it. */
export async function holders(root: string): Promise<Holder[]> {
  const found: Holder[] = []
  for (const file of [...new Bun.Glob('**/*.test.ts').scanSync(join(root, 'test'))].sort())
    found.push(...holdersIn(file, await Bun.file(join(root, 'test', file)).text()))
  return found
}

/** The holders in one file. */
export function holdersIn(file: string, text: string): Holder[] {
  return [...text.matchAll(/^( *)\/\/ rule: (.+)\n/gm)].map(match => {
    const [comment, indent = '', rules = ''] = match
    const name = nameOf(text.slice(match.index + comment.length))
    if (name === undefined) throw new Error(`${file}: no test or group follows ${comment.trim()}`)
    const around = groupsAround(text.slice(0, match.index), indent.length)
    return { file, name: [...around, name].join(' > '), rules: rules.split(', ') }
  })
}

/**
 * The name of the row, test or group: the first string of a row, or the string before the function of a test or group.
 */
function nameOf(below: string): string | undefined {
  const pattern = /^\s*\[/.test(below)
    ? /(['"`])(.*?)\1/
    : /(['"`])((?:(?!\1)[^\n])*)\1,\s*(?:async\b|\(|\w+ =>)/
  return pattern.exec(below)?.[2]
}

/** The names of the groups that contain the line after `above`, by indentation; the outermost first. */
function groupsAround(above: string, indent: number): string[] {
  const names: string[] = []
  for (const line of above.split('\n').reverse()) {
    const [, spaces = '', , name] =
      /^( *)(?:contract|describe|\]\)|\)).*?\((['"`])(.*?)\2, .*=> \{$/.exec(line) ?? []
    if (name === undefined || spaces.length >= indent) continue
    names.unshift(name)
    indent = spaces.length
  }
  return names
}

/** The table in Markdown, with a row for each rule. */
export function tableOf(all: Holder[]): string {
  const rows = Object.entries(RULES).map(([rule, name]) => {
    const tests = all.filter(({ rules }) => rules.includes(rule))
    return [
      rule,
      name,
      tests.map(({ file, name }) => `\`${basename(file, '.test.ts')}\`: ${name}`).join('<br>'),
    ]
  })
  const lines = [['rule', 'its name', 'held by'], ['---', '---', '---'], ...rows]
  return lines.map(cells => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |\n`).join('')
}

/** The document with the table between its two markers; throws if a marker is missing. */
export function withTable(document: string, table: string): string {
  const [start, end] = [document.indexOf(START), document.indexOf(END)]
  if (start < 0 || end < start) throw new Error(`the document has no markers ${START} … ${END}`)
  return `${document.slice(0, start + START.length)}\n\n${table}\n${document.slice(end)}`
}

/** The rules of docs/contract.md: their numbers, and their names. */
export function rulesOf(contract: string): Record<string, string> {
  return Object.fromEntries(
    [...contract.matchAll(/^- \*\*([A-Z]\d+) (.+?)\*\*: /gm)].map(([, id, name]) => [id, name]),
  )
}

/** Whether `id` is the number of a rule. */
export const isRule = (id: string): id is Rule => Object.hasOwn(RULES, id)

if (import.meta.main) {
  const root = join(import.meta.dir, '..')
  const path = join(root, 'test', 'README.md')
  await Bun.write(path, withTable(await Bun.file(path).text(), tableOf(await holders(root))))
}
