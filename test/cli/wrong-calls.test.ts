import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { axport, cleanUp, emptyFolder, errorLine } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { runInProcess } from '../support/in-process.ts'

afterAll(cleanUp)

const NOT_A_COUNT = (text: string) =>
  new RegExp(`^'sample ${text}': Give a whole number from 0 to 100000000\\. .*--help`)
const NOT_A_GRACE = /Give a duration as 30s, 5m, 24h or 7d, at most 90d\.$/
const NO_CHANGE = /^give changes, or --add-new alone: axport integration scope --help lists them$/
const A_LINE = 'must be a line of 1 to 500 characters, without control characters'

/** What is blank in a call, as an unset variable of a script makes it, and the call. */
const BLANKS: [name: string, ...args: string[]][] = [
  ...['show', 'history', 'rotate', 'disable', 'enable', 'describe', 'scope'].map(
    (command): [string, ...string[]] => ['id', 'integration', command, ''],
  ),
  ['id', 'integration', 'delete', ' ', '--yes'],
  ['file', 'import', ''],
  ['--rejects', 'import', 'x', '--rejects', ''],
  ['--queries', 'import', '--from-file', 'x', '--queries', ''],
  ['--from-file', 'import', '--from-file', '', '--queries', 'q'],
  ['--from-file', 'import', '--from-file', ' ', '--queries', 'q'],
  ['--integration', 'disclosures', '--integration', ''],
  ['--time-zone', 'migrate', '--time-zone', ''],
  ['--grant', 'migrate', '--grant', ' '],
  ['--grant-loader', 'migrate', '--grant-loader', ''],
  ...['client-id', 'client-secret-file', 'out', 'previous', 'changes'].map(
    (option): [string, ...string[]] => [
      `--${option}`,
      ...['pull', '--base-url', 'http://127.0.0.1:1', '--client-id', 'id', '--out', 'x.ndjson'],
      ...['--previous', 'old.ndjson', '--changes', 'changes.ndjson', `--${option}=`],
    ],
  ),
]

/** A call, and its error line. */
const CALLS: [args: string[], line: RegExp | string][] = [
  [['bogus'], "unknown command 'bogus' (see axport --help)"],
  [['servee'], /^unknown command 'servee'.*serve/],
  [['help', 'bogus'], "unknown command 'bogus' (see axport --help)"],
  [['--bogus'], "unknown option '--bogus' (see axport --help)"],
  [['serve', '80'], /^too many arguments/],
  [['serve', '--port', '80'], /^unknown option '--port'/],
  [['doctor', '--fix'], "unknown option '--fix' (see axport doctor --help)"],
  [['migrate', '--time-zone'], /^option '--time-zone <zone>' argument missing/],
  [['migrate', '--grant', 'a', '--grant-loader', 'a'], /^--grant and --grant-loader need two roles/],
  [['import'], /^give a file, or --queries DIR to read a platform/],
  [['import', '--every', '1m'], /^give a file, or --queries DIR to read a platform/],
  [['import', '--queries', 'q'], /^--queries needs the URL of the platform: set PLATFORM_URL, or/],
  [['import', '--from-file', 'x'], '--from-file needs --queries DIR, the folder of the queries'],
  ...['queries=q', 'from-file=f', 'feed=a', 'every=1m', 'full'].map((option): [string[], string] => [
    ['import', 'file', `--${option}`],
    `--${option.split('=')[0]} is for a platform, and does not go with a file`,
  ]),
  [['import', '--from-file', 'x', '--queries', 'q', '--feed', 'a b'], /Give 1 to 63 of A-Z a-z 0-9 _ \. -$/],
  [['import', '--from-file', 'x', '--queries', 'q', '--every', '0s'], NOT_A_GRACE],
  [['import', '--from-file', 'x', '--queries', 'q', '--every', '1m', '--dry-run'], /^--every goes without/],
  [['import', '--from-file', 'x', '--queries', 'q', '--every', '2d'], /^--every takes 1d at most/],
  [['import', 'a', 'b'], /^too many arguments/],
  [['import', '--max-removed', '5%', 'x'], '--max-removed belongs to --sync or --queries'],
  [['import', '--max-rejected', '5%', 'x'], '--max-rejected belongs to --rejects'],
  [['import', '--sync', '--max-removed', '101%', 'x'], /as 25%, or a number as 500\.$/],
  [['pull', '--client-id', 'id', '--out', '-'], /required option '--base-url /],
  [['pull', '--base-url', 'http://x', '--out', '-'], /required option '--client-id /],
  [['pull', '--base-url', 'http://x', '--client-id', 'id'], /required option '--out /],
  ...['many', '-5', '100000001'].map((n): [string[], RegExp] => [['sample', n], NOT_A_COUNT(n)]),
  [['integration', 'bogus'], "unknown command 'bogus' (see axport integration --help)"],
  [['integration', 'create', ''], `the name ${A_LINE}`],
  [['integration', 'create', ' \t '], `the name ${A_LINE}`],
  [['integration', 'create', 'n'.repeat(501)], `the name ${A_LINE}`],
  [['integration', 'create', 'two\nlines'], `the name ${A_LINE}`],
  [['integration', 'create', 'n', '--purpose', ' '], `the purpose ${A_LINE}`],
  [['integration', 'create', 'n', '--contact', 'a\x1bb'], `the contact ${A_LINE}`],
  [['integration', 'describe', 'id', '--name', ''], `the name ${A_LINE}`],
  [
    ['integration', 'delete', 'id'],
    /^there is no terminal to confirm .*: axport integration delete id --yes$/,
  ],
  [['disclosures', '--user', 'Ana'], /"Ana" is not an id: give a whole number, as 501\.$/],
  [
    ['disclosures', '--user', '501', '--email', 'ana@example.org'],
    /cannot be used with option '--email <address>'/,
  ],
  [['disclosures', '--csv', '--json'], /cannot be used with option '--json'/],
  ...['90', '2026-02-30', '5w', 'yesterday'].map((when): [string[], RegExp] => [
    ['disclosures', '--since', when],
    /Give a day as 2026-09-01, or so long ago as 90d\.$/,
  ]),
  [['integration', 'create', '\x1b[31mred'], `the name ${A_LINE}`],
  [['integration', 'create', 'two\u2028lines'], `the name ${A_LINE}`],
  [['integration', 'create', '-n'], /^unknown option '-n'/],
  [['integration', 'create', 'x', '--organizations'], /^option '--organizations <ids>' argument missing/],
  ...['1,x', '1.5', '-1', 'ALL', '1,all', '9223372036854775808'].map((ids, at): [string[], RegExp] => [
    ['integration', 'create', 'x', `--${at % 2 ? 'organizations' : 'products'}=${ids}`],
    new RegExp(`"${ids.split(',').at(-1)}" is not an id: give whole numbers, as 1,2,3, or all`),
  ]),
  ...['create', 'scope'].flatMap(command =>
    ['', ' ', ',', ' , '].flatMap(ids =>
      ['organizations', 'products'].map((set): [string[], RegExp] => [
        ['integration', command, 'x', `--${set}=${ids}`],
        /It names no id: give whole numbers, as 1,2,3, or all\.$/,
      ]),
    ),
  ),
  ...['add-organizations', 'remove-organizations', 'add-products', 'remove-products'].map(
    (set): [string[], RegExp] => [['integration', 'scope', 'x', `--${set}=`], /It names no id: /],
  ),
  [['disclosures', '--user', ''], /"" is not an id: give a whole number, as 501\.$/],
  [['erase', ''], /"" is not an id: give a whole number, as 501\. /],
  ...BLANKS.map(([name, ...args]): [string[], string] => [
    args,
    `${name} is blank: give a value, or leave it out if it is optional`,
  ]),
  [['integration', 'scope', 'x'], NO_CHANGE],
  [['integration', 'scope', 'x', '--add-new', '--products', '1'], NO_CHANGE],
  [['integration', 'rotate'], "missing required argument 'id' (see axport integration rotate --help)"],
  [
    ['integration', 'rotate', 'x', '--grace'],
    "option '--grace <duration>' argument missing (see axport integration rotate --help)",
  ],
  ...['', '24', '24 h', '24H', '1.5h', '-1h', '1h30m', '0s', '91d', '7776001s'].map(
    (grace): [string[], RegExp] => [['integration', 'rotate', 'x', `--grace=${grace}`], NOT_A_GRACE],
  ),
]

const PULLING = ['pull', '--base-url', 'http://127.0.0.1:1', '--client-id', 'id', '--out', 'x.ndjson']
const A_URL = /Give it as https:\/\/host\/path, without user, query and fragment\.$/
/** An invalid option of a pull, and its error line. */
const PULLS: [options: string[], line: RegExp][] = [
  [['--base-url', 'localhost:3000'], A_URL],
  [
    ['--base-url', 'https://id:secret@host'],
    new RegExp(`'https://\\*\\*\\*@host' is invalid\\. ${A_URL.source}`),
  ],
  [['--base-url', 'https://host/?x=1'], A_URL],
  [['--out', 'x.txt'], /^x\.txt has no ending that says the format: give --format$/],
  [['--out', '-', '--json'], /both write to standard output/],
  [['--out', '/dev/stdout', '--json'], /both write to standard output/],
  [['--out', 'x.parquet'], /^axport writes no Parquet: give --out x\.ndjson, and then let DuckDB make it: /],
  [['--out', 'x.csv.zst'], /^axport does not compress by zstd: give --out x\.csv or x\.csv\.gz$/],
  [['--format', 'parquet'], /Give one of ndjson, csv\.$/],
  [['--search', ' '], /It is blank: leave the option out to get everything\.$/],
  [['--seid', ''], /It is blank: leave the option out to get everything\.$/],
  [['--seids', 'A,B'], /unknown option '--seids' \(Did you mean --seid\?\)/],
  [['--product-ids', '1,,2'], /It is blank/],
  [['--user-ids', 'all'], /"all" is not an id: give whole numbers, as 1,2,3\.$/],
  [['--user-ids', '1,x'], /"x" is not an id/],
  [['--user-ids', '9223372036854775808'], /is not an id/],
  [['--start-date', '2026-02-30'], /Give a calendar day as YYYY-MM-DD\.$/],
  [['--end-date', '01/03/2026'], /Give a calendar day as YYYY-MM-DD\.$/],
  [['--user-record-status', 'gone'], /Give active or archived\.$/],
  [['--legacy-record', 'maybe'], /Give true or false\.$/],
  [['--sort', 'name'], /Give one of certified_on, user_name, proctor_name, product_name\.$/],
  [['--order', 'up'], /Give one of ASC, DESC\.$/],
  [['--timeout', '3'], /Give a duration as 30s, 5m, 24h or 7d, at most 90d\.$/],
  [['--timeout', '0s'], /Give a duration/],
  [['--retry-for', '5'], /Give a duration/],
  [['--client-secret', 'x'], /unknown option '--client-secret'/],
]

describe('a wrong call', () => {
  const pulls = PULLS.map(([options, line]): [string[], RegExp] => [[...PULLING, ...options], line])
  test.each([...CALLS, ...pulls])(
    'exits with 2 and one line that names the error: %p',
    async (args, line) => {
      const message = errorLine(await runInProcess(args), 2)
      if (typeof line === 'string') expect(message).toBe(line)
      else expect(message).toMatch(line)
    },
  )

  test('is reported by the executable, before any setting is read', async () => {
    const env = { DATABASE_URL: 'nonsense', PORT: 'nonsense', LOG_LEVEL: 'nonsense' }
    for (const args of [['import'], ['serve', 'x'], ['integration', 'create', ' ']])
      errorLine(await axport(args, { env }), 2)
  })

  test('without a command prints the help to standard error', async () => {
    for (const args of [[], ['integration']]) {
      const { code, stdout, stderr } = await axport(args)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toStartWith(`Usage: ${['axport', ...args].join(' ')} `)
    }
  })
})

test('--grace accepts seconds, minutes, hours and days up to 90 days', async () => {
  const graces = ['1s', '90s', '30m', '24h', '7d', '90d', '2160h', '7776000s', ' 24h ', '007d']
  // The next error is the missing database, which shows that the option was accepted.
  const env = { DATABASE_URL_FILE: '/nowhere' }
  const runs = graces.map(grace => axport(['integration', 'rotate', 'x', `--grace=${grace}`], { env }))
  for (const run of await Promise.all(runs))
    expect(errorLine(run, 1)).toStartWith('DATABASE_URL_FILE names /nowhere')
})

describe('axport pull', () => {
  test('without a secret says how to pass one', async () => {
    expect(errorLine(await axport(PULLING), 1)).toBe(
      'there is no secret: set AXPORT_CLIENT_SECRET, or give its file to --client-secret-file',
    )
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'empty'), '\n')
    for (const [file, message] of [
      ['empty', '--client-secret-file names empty, which is empty'],
      ['nowhere', '--client-secret-file names nowhere, which cannot be read (ENOENT)'],
    ] as const) {
      const args = [...PULLING, '--client-secret-file', file]
      expect(errorLine(await axport(args, { cwd }), 1)).toBe(message)
    }
  })

  test('from a port without a listener gives up after --retry-for', async () => {
    const args = [...PULLING, '--base-url', `http://127.0.0.1:${await freePort()}`, '--retry-for', '1s']
    expect(errorLine(await axport(args, { env: { AXPORT_CLIENT_SECRET: 'x' } }), 1)).toMatch(
      /^nothing listens at .*; gave up after \d attempts?$/,
    )
  })
})
