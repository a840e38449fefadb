import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type CommandLevel, commandTree } from '../support/command-tree.ts'
import { axport, cleanUp } from '../support/executable.ts'

let tree: CommandLevel[]
beforeAll(async () => {
  tree = await commandTree()
})
afterAll(cleanUp)

describe('axport completion', () => {
  test('sees every level of the command line', () => {
    const paths = tree.map(level => level.path.join(' '))
    const some = ['', 'serve', 'completion', 'integration', 'integration rotate', 'migrate', 'doctor']
    expect(paths).toEqual(expect.arrayContaining(some))
    expect(tree.flatMap(level => level.options)).toContain('--add-organizations')
    expect(tree.find(level => level.path[0] === 'completion')?.choices).toEqual(['bash', 'zsh', 'fish'])
  })

  test.each(['bash', 'zsh', 'fish'])(
    'holds every command, option and choice in the script for %s',
    async shell => {
      const { code, stdout, stderr } = await axport(['completion', shell])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const lines = stdout.split('\n')
      for (const { path: words, commands, options, choices } of tree) {
        const path = words.join(' ')
        for (const word of [...commands, ...options, ...choices]) {
          // Fish names an option without its dashes.
          const name = shell === 'fish' ? word.replace(/^--/, '-l ') : word
          const isNamed = (line: string) => line.includes(path) && ` ${line} `.match(`[\\s"(]${name}[\\s")]`)
          expect({ path, word, isNamed: lines.some(isNamed) }).toEqual({ path, word, isNamed: true })
        }
      }
    },
  )
})
