import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { axport, cleanUp, complaint, emptyFolder, PATIENCE } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'

setDefaultTimeout(PATIENCE)
afterAll(cleanUp)

const env = { AXPORT_CLIENT_SECRET: 'Xq7Secret' }

/** The arguments of a pull from where nobody would answer it. */
const pulling = (out: string, ...more: string[]) => [
  'pull',
  ...['--base-url', 'http://127.0.0.1:1', '--client-id', 'id', '--out', out],
  ...more,
]

describe('a wrong pull', () => {
  test('without a secret says where it comes from', async () => {
    expect(complaint(await axport(pulling('x.ndjson')), 1)).toBe(
      'there is no secret: set AXPORT_CLIENT_SECRET, or name its file with --client-secret-file',
    )
    const folder = emptyFolder()
    writeFileSync(join(folder, 'empty'), '\n')
    for (const [file, message] of [
      ['empty', 'empty is empty: it has to hold the secret'],
      ['nowhere', 'can not read the secret from nowhere (ENOENT)'],
    ] as const) {
      const args = pulling('x.ndjson', '--client-secret-file', file)
      expect(complaint(await axport(args, { env, cwd: folder }), 1)).toBe(message)
    }
  })

  test('from where nothing listens ends after its patience', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const args = pulling('x.ndjson', '--base-url', url, '--retry-for', '1s')
    expect(complaint(await axport(args, { env }), 1)).toMatch(
      /^nothing listens at .*; gave up after \d attempts?$/,
    )
  })

  test.each([
    [['--base-url', 'localhost:3000'], /Give it as https:\/\/host or http:\/\/host\.$/],
    [['--base-url', 'https://id:secret@host'], /Give scheme, host and path alone\.$/],
    [['--base-url', 'https://host/?x=1'], /Give scheme, host and path alone\.$/],
    [['--out', 'x.txt'], /^x\.txt has no ending that says the format: give --format$/],
    [['--out', '-', '--json'], /both write to standard output/],
    [['--format', 'xml'], /Give one of ndjson, csv, parquet\.$/],
    [['--search', ' '], /It is blank/],
    [['--seid', ''], /It is blank/],
    [['--seids', 'A,B'], /unknown option '--seids' \(Did you mean --seid\?\)/],
    [['--product-ids', '1,,2'], /It is blank/],
    [['--user-ids', 'all'], /Give whole numbers, as 1,2,3\.$/],
    [['--user-ids', '1,x'], /"x" is not an id/],
    [['--user-ids', '9223372036854775808'], /is not an id/],
    [['--start-date', '2026-02-30'], /Give a day as 2026-03-01\.$/],
    [['--end-date', '01/03/2026'], /Give a day as 2026-03-01\.$/],
    [['--user-record-status', 'gone'], /Give one of active, archived\.$/],
    [['--legacy-record', 'maybe'], /Give one of true, false\.$/],
    [['--sort', 'name'], /Give one of certified_on, user_name, proctor_name, product_name\.$/],
    [['--order', 'up'], /Give one of ASC, DESC\.$/],
    [['--timeout', '0s'], /Give a duration/],
    [['--retry-for', '5'], /Give a duration/],
    [['--client-secret', 'x'], /unknown option '--client-secret'/],
  ])('call %p ends with exit code 2 and one line', async (args, message) => {
    expect(complaint(await axport(pulling('x.ndjson', ...args), { env }), 2)).toMatch(message)
  })

  test('call without what it needs ends with exit code 2', async () => {
    for (const missing of ['--base-url', '--client-id', '--out']) {
      const args = pulling('x.ndjson')
      args.splice(args.indexOf(missing), 2)
      expect(complaint(await axport(args, { env }), 2)).toContain(`required option '${missing} `)
    }
  })
})
