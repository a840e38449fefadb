import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { axport, emptyFolder, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { linesOf, usePullStage } from '../support/pull.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const stage = usePullStage()

describe('axport pull', () => {
  test('chooses the format by the ending of the file or by --format, and needs no database', async () => {
    const folder = emptyFolder()
    for (const name of ['a.ndjson', 'a.jsonl', 'a.csv', 'b.txt']) {
      const out = join(folder, name)
      const args = stage.pulling(out, ...(name === 'b.txt' ? ['--format', 'ndjson'] : []))
      expect(await axport(args, { env: stage.env })).toEqual({
        code: 0,
        stdout: `wrote 1000 assessments to ${out}\n`,
        stderr: '',
      })
    }
    expect(readdirSync(folder).sort()).toEqual(['a.csv', 'a.jsonl', 'a.ndjson', 'b.txt'])
    for (const name of ['a.ndjson', 'a.jsonl', 'b.txt'])
      expect(linesOf(join(folder, name))).toEqual(stage.expected)
    expect(linesOf(join(folder, 'a.csv'))[0]).toStartWith('id,seid,')
  })

  test('takes the secret from a file, and prints its result as JSON', async () => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'secret'), `${stage.env.AXPORT_CLIENT_SECRET}\n`)
    const args = stage.pulling('x.ndjson', '--client-secret-file', 'secret', '--json')
    const result = { records: 1000, file: 'x.ndjson', format: 'ndjson', restarts: 0 }
    expect(JSON.parse((await axport(args, { cwd })).stdout)).toEqual(result)
  })

  test('sends every option as the parameter of the contract, and a list option once for each value', async () => {
    stage.front.lists = []
    const options = [
      ...['--search', 'reading obs', '--start-date', '2024-02-28', '--end-date', '2024-02-29'],
      ...['--product-ids', '1,2', '--user-ids', '9223372036854775807', '--user-ids', '3'],
      ...['--seid', 'Ruiz, A b', '--seid', '0012', '--proctor-ids', '101', '--organization-ids', '1'],
      ...['--user-record-status', 'active,archived', '--legacy-record', 'true'],
      ...['--sort', 'user_name', '--order', 'desc'],
    ]
    expect((await axport(stage.pulling('x.ndjson', ...options), { env: stage.env })).code).toBe(0)
    expect([...new URLSearchParams(stage.front.lists[0])].map(([name, value]) => `${name}=${value}`)).toEqual(
      [
        ...['page=100', 'sort=user_name', 'order=DESC', 'filter[search]=reading obs'],
        ...['filter[start_date]=2024-02-28', 'filter[end_date]=2024-02-29'],
        ...['filter[product_ids][]=1', 'filter[product_ids][]=2'],
        ...['filter[user_ids][]=9223372036854775807', 'filter[user_ids][]=3'],
        ...['filter[seids][]=Ruiz, A b', 'filter[seids][]=0012', 'filter[proctor_ids][]=101'],
        ...['filter[organization_ids][]=1', 'filter[user_record_status][]=active'],
        ...['filter[user_record_status][]=archived', 'filter[legacy_record][]=true', 'offset=0'],
      ],
    )
  })
})

test('axport pull --fail-if-empty exits with 1, also into standard output', async () => {
  const none = ['--organization-ids', '99999', '--fail-if-empty']
  const cwd = emptyFolder()
  const failed = await axport(stage.pulling('x.ndjson', ...none), { env: stage.env, cwd })
  expect(errorLine(failed, 1)).toBe(
    'no assessment matches (--fail-if-empty): check the filters, or ask the operator about the scope; nothing was written',
  )
  expect(readdirSync(cwd)).toEqual([])
  expect(errorLine(await axport(stage.pulling('-', ...none), { env: stage.env }), 1)).toStartWith(
    'no assessment matches (--fail-if-empty): ',
  )
})

test('axport pull --timeout takes seconds', async () => {
  using silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
  const there = ['--base-url', `http://127.0.0.1:${silent.port}`]
  const times = ['--timeout', '1s', '--retry-for', '1s']
  const finished = await axport(stage.pulling('x.ndjson', ...there, ...times), { env: stage.env })
  expect(errorLine(finished, 1)).toEndWith('did not finish an answer within 1 s; gave up after 1 attempt')
})

test('axport pull reports a wrong secret in one line without the secret', async () => {
  const finished = await axport(stage.pulling('x.ndjson'), { env: { AXPORT_CLIENT_SECRET: 'Wr0ngSecret' } })
  expect(errorLine(finished, 1)).toBe(
    'the service refuses the client id or its secret: check both, or ask its operator',
  )
})
