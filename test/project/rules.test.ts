import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { holders, holdersIn, isRule, rulesOf, tableOf, withTable } from '../../scripts/rules.ts'
import { RULES } from '../contract/rules.ts'

const root = join(import.meta.dir, '..', '..')

/** Every file that may cite a rule, but for migrations, which are never edited. */
const citing = ['{src,scripts,test,docs}/**/*.{ts,md,yaml,js}', 'db/*.{ts,md}', '*.md'].flatMap(pattern => [
  ...new Bun.Glob(pattern).scanSync(root),
])

describe('the rules of the contract', () => {
  test('are those of docs/contract.md, with the same names in the same order', async () => {
    const contract = await Bun.file(join(root, 'docs', 'contract.md')).text()
    expect(Object.entries(rulesOf(contract))).toEqual(Object.entries(RULES))
    for (const [, id = '', chapter = ''] of contract.matchAll(/^- \*\*(([A-Z])\d+) /gm))
      expect([id, contract.indexOf(`## ${chapter}: `) < contract.indexOf(`**${id} `)]).toEqual([id, true])
  })

  test('are cited by numbers that they have, and nothing cites a document that is not here', async () => {
    const unknown: string[] = []
    let cited = 0
    for (const path of citing.filter(path => path !== 'CHANGELOG.md' && !path.includes('node_modules'))) {
      const text = await Bun.file(join(root, path)).text()
      for (const [citation, ids = ''] of text.matchAll(
        /\bcontract ((?:[A-Z]\d+)(?:(?:, | and | to )[A-Z]\d+)*)/gi,
      )) {
        cited++
        if (!ids.split(/, | and | to /).every(isRule)) unknown.push(`${path}: ${citation}`)
      }
      for (const [citation] of text.matchAll(/\b(?:spec|design|protocol) (?:§ ?)?\d[\d.]*/gi))
        unknown.push(`${path}: ${citation}`)
    }
    expect(unknown).toEqual([])
    expect(cited).toBeGreaterThan(30)
  })

  test('have at least one test each', async () => {
    const held = new Set((await holders(root)).flatMap(({ rules }) => rules))
    expect(Object.keys(RULES).filter(rule => !held.has(rule))).toEqual([])
  })

  test('are the only ids in comments `// rule:`', async () => {
    const unknown = (await holders(root)).flatMap(({ file, rules }) =>
      rules.filter(rule => !isRule(rule)).map(rule => `${file}: ${rule}`),
    )
    expect(unknown).toEqual([])
  })

  test('are in test/README.md with their tests, exactly as scripts/rules.ts writes them', async () => {
    const readme = await Bun.file(join(root, 'test', 'README.md')).text()
    const written = withTable(readme, tableOf(await holders(root)))
    expect(written, 'run: bun scripts/rules.ts').toBe(readme)
  })

  test('are found above tests, tables and rows, with the names of the groups around them', () => {
    const text = `
contract('The list', setup, api => {
  describe.each([
    'a b',
  ])('of %s', name => {
    const facts = [
      // rule: L1
      ['by row', 'x', () => 1],
    ]
    // rule: L3, L4
    test.each([
      ['a sentence', 1],
    ])('is %s', async value => {
    })
  })
})
`
    expect(holdersIn('x.test.ts', text)).toEqual([
      { file: 'x.test.ts', name: 'The list > of %s > by row', rules: ['L1'] },
      { file: 'x.test.ts', name: 'The list > of %s > is %s', rules: ['L3', 'L4'] },
    ])
  })
})
