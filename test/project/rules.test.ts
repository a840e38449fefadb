import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { isLong, testFiles } from '../../scripts/tests.ts'
import { RULES } from '../contract/support/rule.ts'

const root = join(import.meta.dir, '..', '..')

/** Every file that may cite a rule, but for migrations, which are never edited. */
const citing = ['{src,scripts,test,docs}/**/*.{ts,md,yaml,js}', 'db/*.{ts,md}', '*.md'].flatMap(pattern => [
  ...new Bun.Glob(pattern).scanSync(root),
])

describe('the rules of the contract', () => {
  test('are those of docs/contract.md, in the same order', async () => {
    const contract = await Bun.file(join(root, 'docs', 'contract.md')).text()
    expect([...contract.matchAll(/^- \*\*([A-Z]\d+) .+?\*\*: /gm)].map(([, id]) => id)).toEqual([...RULES])
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
        if (!ids.split(/, | and | to /).every(id => RULES.some(rule => rule === id)))
          unknown.push(`${path}: ${citation}`)
      }
      for (const [citation] of text.matchAll(/\b(?:spec|design|protocol) (?:§ ?)?\d[\d.]*/gi))
        unknown.push(`${path}: ${citation}`)
    }
    expect(unknown).toEqual([])
    expect(cited).toBeGreaterThan(30)
  })

  test('have at least one test each in `check`', async () => {
    const calls: string[] = []
    for (const path of testFiles(root).filter(file => !isLong(file)))
      for (const [call] of (await Bun.file(join(root, path)).text()).matchAll(
        /\brule\((?:[^()]|\([^()]*\))*\)/g,
      ))
        calls.push(call)
    expect(RULES.filter(rule => !calls.some(call => call.includes(`'${rule}'`)))).toEqual([])
  })
})
