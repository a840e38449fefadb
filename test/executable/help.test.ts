import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { axport, cleanUp, commandsOf, complaint, PATIENCE } from '../support/executable.ts'

setDefaultTimeout(PATIENCE)
afterAll(cleanUp)

/** Every command there is, with those below it: ["demo"], ["integration"], ["integration", "create"], … */
async function allCommands(above: string[] = []): Promise<string[][]> {
  const { stdout } = await axport([...above, '--help'])
  const here = commandsOf(stdout).map(name => [...above, name])
  const below = await Promise.all(here.map(command => allCommands(command)))
  return here.flatMap((command, index) => [command, ...(below[index] as string[][])])
}

describe('help', () => {
  test('names all commands, without any setting', async () => {
    const { code, stdout, stderr } = await axport(['--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(commandsOf(stdout)).toEqual(
      expect.arrayContaining(['demo', 'serve', 'migrate', 'import', 'integration', 'sample']),
    )
  })

  test('of every command says how it is called and gives an example', async () => {
    const commands = await allCommands()
    expect(commands.map(command => command.join(' '))).toContain('integration create')
    const wanting: string[] = []
    for (const command of commands) {
      const name = command.join(' ')
      const { code, stdout, stderr } = await axport([...command, '--help'])
      if (code !== 0 || stderr !== '') wanting.push(`${name}: exit code ${code}, ${stderr}`)
      if (!stdout.startsWith(`Usage: axport ${name}`)) wanting.push(`${name}: usage`)
      if (!/^Examples?:.*\baxport /m.test(stdout)) wanting.push(`${name}: example`)
    }
    expect(wanting).toEqual([])
  })

  test('is what a call without a command gets, as an error', async () => {
    for (const args of [[], ['integration']]) {
      const { code, stdout, stderr } = await axport(args)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toStartWith(`Usage: ${['axport', ...args].join(' ')} `)
    }
  })
})

test('--version prints the version of package.json, and the commit where it is known', async () => {
  const { version } = (await Bun.file(`${import.meta.dir}/../../package.json`).json()) as { version: string }
  const { code, stdout, stderr } = await axport(['--version'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^\d+\.\d+\.\d+( \([0-9a-f]{7,12}\))?\n$/)
  expect(stdout).toStartWith(version)
})

describe('a wrong call', () => {
  test.each([
    [['servee'], /unknown command 'servee'.*serve/],
    [['bogus'], /unknown command 'bogus'/],
    [['help'], /unknown command 'help'/],
    [['--bogus'], /unknown option '--bogus'/],
    [['serve', '--port', '80'], /unknown option '--port'/],
    [['serve', '80'], /too many arguments/],
    [['import'], /missing required argument 'file'/],
    [['import', 'a', 'b'], /too many arguments/],
    [['migrate', '--time-zone'], /'--time-zone <zone>' argument missing/],
    [['sample'], /missing required argument 'n'/],
    [['sample', 'many'], /'many'.*whole number from 0 to 100000000/],
    [['sample', '-5'], /'-5'.*whole number/],
    [['sample', '1.5'], /'1\.5'.*whole number/],
    [['sample', '1e3'], /'1e3'.*whole number/],
    [['sample', '100000001'], /'100000001'.*whole number/],
    [['integration', 'bogus'], /unknown command 'bogus'/],
    [['integration', 'create'], /missing required argument 'name'/],
    [['integration', 'create', ''], /name.*must not be blank/],
    [['integration', 'create', ' \t '], /name.*must not be blank/],
    [['integration', 'create', 'x', '--organizations'], /'--organizations <ids>' argument missing/],
    [['integration', 'create', 'x', '--organizations', '1,two'], /"two" is not an id.*whole numbers/],
    [['integration', 'create', 'x', '--organizations', '-1'], /whole numbers|argument missing/],
    [['integration', 'create', 'x', '--products', '1.5'], /"1\.5" is not an id/],
    [['integration', 'create', 'x', '--products', '1'.repeat(30)], /is not an id/],
  ])('ends with exit code 2 and one line: %p', async (args, message) => {
    expect(complaint(await axport(args), 2)).toMatch(message)
  })

  test('is noticed before any setting is looked at', async () => {
    const env = { DATABASE_URL: 'nonsense', PORT: 'nonsense', LOG_LEVEL: 'nonsense' }
    for (const args of [['import'], ['serve', 'x'], ['integration', 'create', ' ']])
      complaint(await axport(args, { env }), 2)
  })
})
