import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type CommandLevel, commandTree } from '../support/command-tree.ts'
import { axport, cleanUp } from '../support/executable.ts'

let tree: CommandLevel[]
beforeAll(async () => {
  tree = await commandTree()
})
afterAll(cleanUp)

describe('axport completion', () => {
  test('has the tests check every level of the command line', () => {
    const paths = tree.map(level => level.path.join(' '))
    const some = ['', 'serve', 'completion', 'integration', 'integration rotate', 'migrate', 'doctor']
    expect(paths).toEqual(expect.arrayContaining(some))
    expect(tree.flatMap(level => level.options)).toContain('--add-organizations')
    expect(tree.find(level => level.path[0] === 'completion')?.choices).toEqual(['bash', 'zsh', 'fish'])
  })

  test('prints a short script for each shell that calls axport __complete', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, stdout, stderr } = await axport(['completion', shell])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain(' __complete -- ')
      expect(stdout.split('\n').length).toBeLessThan(30)
    }
  })

  test('mentions __complete in no help text', () => {
    for (const { help } of tree) expect(help).not.toContain('__complete')
  })
})

/** The output of axport __complete for these words. The last word is being typed. */
async function complete(...words: string[]): Promise<string[]> {
  const env = { DATABASE_URL: 'postgres://127.0.0.1:1/x', PORT: 'no port' }
  const { code, stdout, stderr } = await axport(['__complete', '--', ...words], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.split('\n').slice(0, -1)
}

const names = (lines: string[]) => lines.map(line => line.split('\t')[0])

describe('axport __complete', () => {
  test('prints every command, option and choice of every level, without a database and despite invalid settings', async () => {
    for (const { path, commands, options, choices, help } of tree) {
      const takesFile = /^ {2}file /m.test(help)
      const found = [...(await complete(...path, '')), ...(takesFile ? await complete(...path, '-') : [])]
      const files = takesFile ? [':files'] : []
      expect({ path, names: names(found).sort() }).toEqual({
        path,
        names: [...commands, ...options, ...choices, ...files].sort(),
      })
    }
  })

  test('prints the description of each word after a tab', async () => {
    expect(await complete('integration', 'rota')).toEqual([
      expect.stringMatching(/^rotate\tReplace the secret\. .*\.$/),
    ])
    expect(await complete('restore', '--ch')).toEqual([expect.stringMatching(/^--check\tonly check .*$/)])
    for (const line of await complete('pull', '')) expect(line).toMatch(/^--[a-z-]+\t\S.*$/)
  })

  test('asks the shell for files where an argument or value is a file, and prints nothing for other values', async () => {
    for (const words of [
      ['import', 'exp'],
      ['restore', ''],
      ['import', '--queries', ''],
      ['pull', '--out', '=', 'a'],
    ])
      expect(await complete(...words)).toEqual([':files'])
    for (const words of [
      ['serve', '--workers', ''],
      ['integration', 'list', 'x', 'y'],
      ['integration', 'rotate', '--grace', '=', '--'],
    ])
      expect(await complete(...words)).toEqual([])
  })

  test('prints no commands after an argument', async () => {
    expect(names(await complete('integration', 'nothing', ''))).toEqual(['--help'])
  })
})
