import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { holders, holdersIn, isRule, tableOf, withTable } from '../../scripts/rules.ts'
import { RULES } from '../contract/rules.ts'

const root = join(import.meta.dir, '..', '..')

describe('the rules of the specification', () => {
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
      // rule: 4.2 page
      ['by row', 'x', () => 1],
    ]
    // rule: 4.2 sort; 4.2 order
    test.each([
      ['a sentence', 1],
    ])('is %s', async value => {
    })
  })
})
`
    expect(holdersIn('x.test.ts', text)).toEqual([
      { file: 'x.test.ts', name: 'The list > of %s > by row', rules: ['4.2 page'] },
      { file: 'x.test.ts', name: 'The list > of %s > is %s', rules: ['4.2 sort', '4.2 order'] },
    ])
  })
})
