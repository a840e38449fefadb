import { afterAll, describe, expect, test } from 'bun:test'
import { axport, cleanUp, complaint } from '../support/executable.ts'

afterAll(cleanUp)

const NOT_A_COUNT = (text: string) => new RegExp(`'${text}'.*whole number from 0 to 100000000`)
const NOT_A_GRACE = /Give a duration as 30m, 24h or 7d, at most 90d\.$/
const CONTROL = /control characters/

/** A call, and the line that it gets. */
const CALLS: [args: string[], line: RegExp | string][] = [
  [['bogus'], "unknown command 'bogus' (see axport --help)"],
  [['servee'], /^unknown command 'servee'.*serve/],
  [['help'], /^unknown command 'help'/],
  [['--bogus'], "unknown option '--bogus' (see axport --help)"],
  [['serve', '80'], /^too many arguments/],
  [['serve', '--port', '80'], /^unknown option '--port'/],
  [['serve', '--worker', '1'], '--worker is for the workers of axport serve --workers'],
  ...['0', '-1', '1.5', 'all', '1000'].map((n): [string[], RegExp] => [
    ['serve', `--workers=${n}`],
    /'--workers <n>'/,
  ]),
  [['doctor', 'now'], /^too many arguments/],
  [['doctor', '--fix'], "unknown option '--fix' (see axport doctor --help)"],
  [['completion'], /^missing required argument 'shell'/],
  [['completion', 'powershell'], /bash, zsh, fish/],
  [['migrate', '--time-zone'], /^option '--time-zone <zone>' argument missing/],
  [['migrate', '--grant', ' '], /the name of a role/],
  [['import'], /^missing required argument 'file'/],
  [['import', 'a', 'b'], /^too many arguments/],
  [['import', '--max-removed', '5%', 'x'], '--max-removed belongs to --sync'],
  [['import', '--sync', '--max-removed', '101%', 'x'], /as 25%, or a number of rows as 500\.$/],
  [['sample'], /^missing required argument 'n'/],
  ...['many', '-5', '1.5', '1e3', '100000001'].map((n): [string[], RegExp] => [
    ['sample', n],
    NOT_A_COUNT(n),
  ]),
  [['integration', 'bogus'], "unknown command 'bogus' (see axport integration --help)"],
  [['integration', 'remove', 'x'], /^unknown command 'remove'/],
  [['integration', 'list', '--all'], /^unknown option '--all'/],
  [['integration', 'create'], /^missing required argument 'name'/],
  [['integration', 'create', 'x', 'y'], /^too many arguments/],
  [['integration', 'create', ''], 'the name of an integration must not be blank'],
  [['integration', 'create', ' \t '], 'the name of an integration must not be blank'],
  [['integration', 'create', 'n'.repeat(501)], /^the name .* 500 characters at most/],
  [['integration', 'create', 'two\nlines'], CONTROL],
  [['integration', 'create', 'a tab\there'], CONTROL],
  [['integration', 'create', '\x1b[31mred'], CONTROL],
  [['integration', 'create', 'two\u2028lines'], CONTROL],
  [['integration', 'create', '-n'], /^unknown option '-n'/],
  [['integration', 'create', 'x', '--organizations'], /^option '--organizations <ids>' argument missing/],
  ...['1,x', '1.5', '-1', '1;2', 'ALL', '1,all', '9223372036854775808', '1'.repeat(30)].flatMap(ids => {
    const named = ids.split(',').at(-1)
    return ['organizations', 'products'].map((kind): [string[], RegExp] => [
      ['integration', 'create', 'x', `--${kind}=${ids}`],
      new RegExp(`"${named}" is not an id.*whole numbers`),
    ])
  }),
  [['integration', 'scope', 'x'], /^say what to change: axport integration scope --help/],
  [['integration', 'rotate'], "missing required argument 'id' (see axport integration rotate --help)"],
  [['integration', 'rotate', 'x', 'y'], /^too many arguments/],
  [
    ['integration', 'rotate', 'x', '--grace'],
    "option '--grace <duration>' argument missing (see axport integration rotate --help)",
  ],
  ...['', '24', 'h', '24 h', '24H', '1.5h', '-1h', '+1h', '1h30m', 'P1D', '0h', '0s', '91d', 'soon']
    .concat('7776001s', '12345678s')
    .map((grace): [string[], RegExp] => [['integration', 'rotate', 'x', `--grace=${grace}`], NOT_A_GRACE]),
]

describe('a wrong call', () => {
  test.each(CALLS)('ends with exit code 2 and one line that says what is wrong: %p', async (args, line) => {
    const said = complaint(await axport(args), 2)
    if (typeof line === 'string') expect(said).toBe(line)
    else expect(said).toMatch(line)
  })

  test('is noticed before any setting is looked at', async () => {
    const env = { DATABASE_URL: 'nonsense', PORT: 'nonsense', LOG_LEVEL: 'nonsense' }
    for (const args of [['import'], ['serve', 'x'], ['integration', 'create', ' ']])
      complaint(await axport(args, { env }), 2)
  })

  test('without a command gets the help, as an error', async () => {
    for (const args of [[], ['integration']]) {
      const { code, stdout, stderr } = await axport(args)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toStartWith(`Usage: ${['axport', ...args].join(' ')} `)
    }
  })
})

test('a grace may be of seconds, minutes, hours and days, up to 90 days', async () => {
  const graces = ['1s', '90s', '30m', '24h', '7d', '90d', '2160h', '7776000s', ' 24h ', '007d']
  // The next thing that is wrong is the database.
  const env = { DATABASE_URL_FILE: '/nowhere' }
  const runs = graces.map(grace => axport(['integration', 'rotate', 'x', `--grace=${grace}`], { env }))
  for (const run of await Promise.all(runs))
    expect(complaint(run, 1)).toStartWith('DATABASE_URL_FILE names /nowhere')
})
