// Writes the table of the specification's rules, and the tests that hold each, into test/README.md.
import { basename, join } from 'node:path'
import { RULES, type Rule } from '../test/contract/rules.ts'

const START = '<!-- rules -->'
const END = '<!-- /rules -->'

/** A test, or a group of tests, that says of itself which rules it holds. */
export interface Holder {
  /** Path from `test/`. */
  file: string
  /** With the names of the groups around it, as a test run prints it. */
  name: string
  rules: string[]
}

/** Everything in the test files below `root` that a comment `// rule: …` stands above. */
export async function holders(root: string): Promise<Holder[]> {
  const found: Holder[] = []
  for (const file of [...new Bun.Glob('**/*.test.ts').scanSync(join(root, 'test'))].sort())
    found.push(...holdersIn(file, await Bun.file(join(root, 'test', file)).text()))
  return found
}

/** Those of one file. */
export function holdersIn(file: string, text: string): Holder[] {
  return [...text.matchAll(/^( *)\/\/ rule: (.+)\n/gm)].map(match => {
    const [comment, indent = '', rules = ''] = match
    const name = nameOf(text.slice(match.index + comment.length))
    if (name === undefined) throw new Error(`${file}: nothing with a name stands below ${comment.trim()}`)
    const around = groupsAround(text.slice(0, match.index), indent.length)
    return { file, name: [...around, name].join(' > '), rules: rules.split('; ') }
  })
}

/** Of the row of a table: its first text; of a test or a group: the text before its function. */
function nameOf(below: string): string | undefined {
  const pattern = /^\s*\[/.test(below)
    ? /(['"`])(.*?)\1/
    : /(['"`])((?:(?!\1)[^\n])*)\1,\s*(?:async\b|\(|\w+ =>)/
  return pattern.exec(below)?.[2]
}

/** The names of the groups that are open at the end of `above`, by their indentation; the outermost first. */
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

/** The table in Markdown: a row for each rule. */
export function tableOf(all: Holder[]): string {
  const rows = Object.entries(RULES).map(([rule, words]) => {
    const tests = all.filter(({ rules }) => rules.includes(rule))
    return [
      rule,
      words,
      tests.map(({ file, name }) => `\`${basename(file, '.test.ts')}\`: ${name}`).join('<br>'),
    ]
  })
  const lines = [['rule', 'what it says', 'held by'], ['---', '---', '---'], ...rows]
  return lines.map(cells => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |\n`).join('')
}

/** The document with the table between its two markers; throws where they are not. */
export function withTable(document: string, table: string): string {
  const [start, end] = [document.indexOf(START), document.indexOf(END)]
  if (start < 0 || end < start) throw new Error(`there is no ${START} … ${END}`)
  return `${document.slice(0, start + START.length)}\n\n${table}\n${document.slice(end)}`
}

/** Whether this is the id of a rule. */
export const isRule = (id: string): id is Rule => Object.hasOwn(RULES, id)

if (import.meta.main) {
  const root = join(import.meta.dir, '..')
  const path = join(root, 'test', 'README.md')
  await Bun.write(path, withTable(await Bun.file(path).text(), tableOf(await holders(root))))
}
