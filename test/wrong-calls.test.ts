import { afterAll, expect, test } from 'bun:test'
import { axport, cleanUp } from './support/executable.ts'

afterAll(cleanUp)

test.each([
  [['bogus'], 'axport'],
  [['--bogus'], 'axport'],
  [['doctor', '--fix'], 'axport doctor'],
  [['integration', 'remove'], 'axport integration'],
  [['integration', 'rotate'], 'axport integration rotate'],
  [['integration', 'rotate', 'x', '--grace'], 'axport integration rotate'],
])('axport %p gets one line that says what is wrong and which --help to read', async (args, command) => {
  const { code, stdout, stderr } = await axport(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(new RegExp(`^axport: [^\\n]+ \\(see ${command} --help\\)\\n$`))
})

test('a value that is not right gets one line that says what it has to be', async () => {
  const { code, stderr } = await axport(['integration', 'rotate', 'x', '--grace', 'soon'])
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr:
      "axport: option '--grace <duration>' argument 'soon' is invalid. Give a duration as 30m, 24h or 7d, at most 90d.\n",
  })
})

test('axport --help has an example', async () => {
  expect((await axport(['--help'])).stdout).toContain('\nExample: axport demo\n')
})
