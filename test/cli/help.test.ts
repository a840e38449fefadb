import { afterAll, beforeAll, expect, test } from 'bun:test'
import packageJson from '../../package.json'
import { MIGRATIONS } from '../../src/database/migrations.ts'
import { type CommandLevel, commandTree } from '../support/command-tree.ts'
import { axport, cleanUp } from '../support/executable.ts'

let tree: CommandLevel[]
beforeAll(async () => {
  tree = await commandTree()
})
afterAll(cleanUp)

test('axport --help lists its commands and has an example, without any setting', () => {
  expect(tree[0]?.commands).toEqual(
    expect.arrayContaining(['demo', 'serve', 'migrate', 'import', 'integration', 'sample']),
  )
  expect(tree[0]?.help).toContain('\nExample: axport demo\n')
  expect(tree.map(level => level.path.join(' '))).toContain('integration create')
})

test('the help of every command starts with its usage and contains an example of its call', () => {
  for (const { path, help, commands } of tree.slice(1)) {
    const name = `axport ${path.join(' ')}`
    expect(help).toStartWith(`Usage: ${name} `)
    const call = `${name}${commands.length > 0 ? ' \\w+' : ''}`
    expect(help).toMatch(new RegExp(`^Examples?:(.*\\n)*?.*\\b${call}\\b`, 'm'))
  }
})

test('the help of every command fits a screen of 40 lines and 100 columns', () => {
  const sizes = tree.map(({ path, help }) => {
    const lines = help.trimEnd().split('\n')
    return { path, lines: lines.length, columns: Math.max(...lines.map(line => Bun.stringWidth(line))) }
  })
  expect(sizes.filter(({ lines, columns }) => lines > 40 || columns > 100)).toEqual([])
})

test('-h and help print the same text as --help, for axport, a command and a command of a group', async () => {
  for (const path of [[], ['serve'], ['integration', 'create']]) {
    const expected = await axport([...path, '--help'])
    expect(await axport([...path, '-h'])).toEqual(expected)
    expect(await axport(['help', ...path])).toEqual(expected)
  }
})

test('axport version prints the version and the commit, and with --json also the version of Bun and of the schema', async () => {
  const { stdout } = await axport(['version', '--json'])
  const { version } = packageJson
  const { commit, ...others } = JSON.parse(stdout)
  expect(others).toEqual({ version, bun: Bun.version, schema: MIGRATIONS.at(-1)?.name })
  // An executable that was built outside a repository has no commit.
  if (commit !== null) expect(commit).toMatch(/^[0-9a-f]{7,40}$/)
  const line = commit === null ? `${version}\n` : `${version} (${commit})\n`
  for (const args of [['version'], ['--version'], ['-v']])
    expect(await axport(args)).toEqual({ code: 0, stdout: line, stderr: '' })
})
