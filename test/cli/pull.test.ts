import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { selfSigned } from '../support/certificate.ts'
import { axport, cleanUp, complaint, emptyFolder, PATIENCE, shell, start } from '../support/executable.ts'
import { documents, type Front, linesOf, provisionSample, startFront } from '../support/pull.ts'
import { startService, type TestService } from '../support/service.ts'

setDefaultTimeout(PATIENCE)

let service: TestService
let front: Front
let client: { clientId: string; clientSecret: string }
let expected: string[]
let env: Record<string, string>

beforeAll(async () => {
  service = await startService('postgres')
  client = await provisionSample(service)
  expected = await documents(service)
  front = startFront(service)
  env = { AXPORT_CLIENT_SECRET: client.clientSecret }
})
afterAll(async () => {
  await front?.stop()
  await service?.close()
  await cleanUp()
})

/** The arguments of a pull into `out`. */
const pulling = (out: string, ...more: string[]) => [
  'pull',
  ...['--base-url', front.baseUrl, '--client-id', client.clientId, '--out', out],
  ...more,
]

describe('axport pull', () => {
  test('makes a file by its ending, or as --format says, and needs no database', async () => {
    const folder = emptyFolder()
    for (const name of ['a.ndjson', 'a.jsonl', 'a.csv', 'a.parquet', 'b.txt']) {
      const out = join(folder, name)
      const args = pulling(out, ...(name === 'b.txt' ? ['--format', 'ndjson'] : []))
      expect(await axport(args, { env })).toEqual({
        code: 0,
        stdout: `wrote 1000 assessments to ${out}\n`,
        stderr: '',
      })
    }
    expect(readdirSync(folder).sort()).toEqual(['a.csv', 'a.jsonl', 'a.ndjson', 'a.parquet', 'b.txt'])
    for (const name of ['a.ndjson', 'a.jsonl', 'b.txt']) expect(linesOf(join(folder, name))).toEqual(expected)
    expect(linesOf(join(folder, 'a.csv'))[0]).toStartWith('id,seid,')
    expect(readFileSync(join(folder, 'a.parquet')).subarray(0, 4).toString()).toBe('PAR1')
  })

  test('takes the secret from a file, and prints its result as JSON', async () => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'secret'), `${client.clientSecret}\n`)
    const args = pulling('x.ndjson', '--client-secret-file', 'secret', '--json')
    const result = { records: 1000, file: 'x.ndjson', format: 'ndjson', resumed: 0, restarts: 0 }
    expect(JSON.parse((await axport(args, { cwd })).stdout)).toEqual(result)
  })

  test('writes to standard output, and ends quietly when nobody reads on', async () => {
    const { code, stdout, stderr } = await axport(pulling('-'), { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(expected.map(line => `${line}\n`).join(''))
    const piped = `("$AXPORT" ${pulling('-').join(' ')}; echo $? >&2) | head -n 2`
    expect(await shell(piped, { env })).toEqual({
      code: 0,
      stdout: `${expected[0]}\n${expected[1]}\n`,
      // Quietly, and not as if all had been taken.
      stderr: '130\n',
    })
  })

  test('into a pipe that nobody reads on from ends when it is told to', async () => {
    const lines = [
      'mkfifo pipe',
      `"$AXPORT" ${pulling('pipe', '--format', 'ndjson').join(' ')} & pull=$!`,
      // It writes from then on, and waits when the pipe is full.
      'exec 3< pipe; head -c 1 <&3 > /dev/null',
      'kill -TERM $pull; wait $pull; echo $?',
    ]
    expect(await shell(lines.join('\n'), { env, cwd: emptyFolder() })).toEqual({
      code: 0,
      stdout: '130\n',
      stderr: 'axport: interrupted: what was written is not all\n',
    })
  })

  test('writes through a link to the file behind it', async () => {
    const folder = emptyFolder()
    mkdirSync(join(folder, 'there'))
    writeFileSync(join(folder, 'there', 'real.ndjson'), 'earlier')
    symlinkSync(join('there', 'real.ndjson'), join(folder, 'link.ndjson'))
    await axport(pulling('link.ndjson'), { env, cwd: folder })
    expect(linesOf(join(folder, 'there', 'real.ndjson'))).toEqual(expected)
    expect(readdirSync(folder).sort()).toEqual(['link.ndjson', 'there'])
  })

  test('asks for what every option says as the spec names it, a list option again and again', async () => {
    front.lists = []
    const options = [
      ...['--search', 'reading obs', '--start-date', '2024-02-28', '--end-date', '2024-02-29'],
      ...['--product-ids', '1,2', '--user-ids', '9223372036854775807', '--user-ids', '3'],
      ...['--seid', 'Ruiz, A b', '--seid', '0012', '--proctor-ids', '101', '--organization-ids', '1'],
      ...['--user-record-status', 'active,archived', '--legacy-record', 'true'],
      ...['--sort', 'user_name', '--order', 'desc'],
    ]
    expect((await axport(pulling('x.ndjson', ...options), { env })).code).toBe(0)
    expect([...new URLSearchParams(front.lists[0])].map(([name, value]) => `${name}=${value}`)).toEqual([
      ...['page=100', 'sort=user_name', 'order=DESC', 'filter[search]=reading obs'],
      ...['filter[start_date]=2024-02-28', 'filter[end_date]=2024-02-29'],
      ...['filter[product_ids][]=1', 'filter[product_ids][]=2'],
      ...['filter[user_ids][]=9223372036854775807', 'filter[user_ids][]=3'],
      ...['filter[seids][]=Ruiz, A b', 'filter[seids][]=0012', 'filter[proctor_ids][]=101'],
      ...['filter[organization_ids][]=1', 'filter[user_record_status][]=active'],
      ...['filter[user_record_status][]=archived', 'filter[legacy_record][]=true', 'offset=0'],
    ])
  })
})

describe('a pull that ends before its time', () => {
  /** Stops the service at the n-th page until the test has seen enough. */
  function heldAt(page: number): { reached: Promise<void>; release(): void } {
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const first = front.lists.length
    front.hook = async n => {
      if (n - first < page) return
      reached.resolve()
      await released.promise
    }
    const release = () => {
      front.hook = () => {}
      released.resolve()
    }
    return { reached: reached.promise, release }
  }

  test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'by %s is gone on with by the same command',
    async signal => {
      const folder = emptyFolder()
      const out = join(folder, 'out.ndjson')
      writeFileSync(out, 'earlier')
      const held = heldAt(5)
      const running = await start(pulling(out), { env })
      await held.reached
      running.signal(signal)
      const { code, stdout, stderr } = await running.finished
      held.release()
      expect(stdout).toBe('')
      if (signal === 'SIGKILL') expect(code).toBe(137)
      else {
        expect(code).toBe(130)
        expect(stderr).toMatch(
          /^axport: interrupted: \d+ of 1000 assessments are kept, the same command goes on from there\n$/,
        )
      }
      expect(readFileSync(out, 'utf8')).toBe('earlier')
      const again = await axport(pulling(out), { env })
      expect(again.stdout).toBe(`wrote 1000 assessments to ${out}\n`)
      expect(again.stderr).toMatch(/^note: going on after \d+ assessments of an interrupted run\n$/)
      expect(linesOf(out)).toEqual(expected)
      expect(readdirSync(folder)).toEqual(['out.ndjson'])
    },
  )

  test('by Ctrl-C before anything came leaves nothing behind', async () => {
    const folder = emptyFolder()
    const held = heldAt(1)
    const running = await start(pulling(join(folder, 'out.ndjson')), { env })
    await held.reached
    running.signal('SIGINT')
    expect(await running.finished).toEqual({
      code: 130,
      stdout: '',
      stderr: 'axport: interrupted: nothing is kept\n',
    })
    held.release()
    expect(readdirSync(folder)).toEqual([])
  })

  test('keeps another one off the same file as long as it runs', async () => {
    const out = join(emptyFolder(), 'out.ndjson')
    const held = heldAt(3)
    const running = await start(pulling(out), { env })
    await held.reached
    expect(complaint(await axport(pulling(out), { env }), 1)).toBe(
      `another axport pull is writing ${out}: wait for it, or give another --out`,
    )
    held.release()
    expect((await running.finished).code).toBe(0)
    expect(linesOf(out)).toEqual(expected)
  })
})

describe('over HTTPS', () => {
  const certificate = selfSigned('ours')
  let secure: Front
  let trusting: Record<string, string>
  beforeAll(() => {
    secure = startFront(service, certificate)
    const authority = join(emptyFolder(), 'authority.pem')
    writeFileSync(authority, certificate.cert)
    trusting = { ...env, NODE_EXTRA_CA_CERTS: authority }
  })
  afterAll(async () => {
    await secure?.stop()
  })

  test('it reads from a service whose authority NODE_EXTRA_CA_CERTS names, and from no other', async () => {
    const out = join(emptyFolder(), 'out.ndjson')
    const args = pulling(out, '--base-url', secure.baseUrl)
    expect(await axport(args, { env: trusting })).toMatchObject({ code: 0, stderr: '' })
    expect(linesOf(out)).toEqual(expected)
    expect(complaint(await axport(args, { env }), 1)).toBe(
      `the certificate of ${secure.baseUrl} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): name the file of its authority in NODE_EXTRA_CA_CERTS`,
    )
  })

  test('a certificate for another name is told so', async () => {
    const elsewhere = secure.baseUrl.replace('127.0.0.1', '0.0.0.0')
    const args = pulling('x.ndjson', '--base-url', elsewhere)
    expect(complaint(await axport(args, { env: trusting }), 1)).toBe(
      `the certificate of ${elsewhere} is for another name: give the one that it is for as --base-url`,
    )
  })
})

describe('a disk that does not take it', () => {
  test('is told in one line: a full device, standard output on it', async () => {
    expect(complaint(await axport(pulling('/dev/full', '--format', 'ndjson'), { env }), 1)).toBe(
      'cannot write /dev/full: no space is left',
    )
    const redirected = await shell(`"$AXPORT" ${pulling('-').join(' ')} >/dev/full`, { env })
    expect(complaint(redirected, 1)).toBe('cannot write to standard output (ENOSPC)')
  })

  test.each(['ndjson', 'csv'])(
    'leaves the earlier %s, and the pull goes on when there is room',
    async format => {
      const folder = emptyFolder()
      const out = join(folder, `out.${format}`)
      writeFileSync(out, 'earlier')
      // A limit that the partial file (of some 490,000 bytes) hits; for CSV only once that is complete.
      const blocks = 400
      const limited = `trap '' XFSZ; ulimit -f ${blocks}; "$AXPORT" ${pulling(out).join(' ')}`
      const failed = complaint(await shell(limited, { env }), 1)
      expect(failed).toMatch(
        /^cannot write .*out\.\w+\.partial: the file would be larger than is permitted; \d+ of 1000 assessments are kept: the same command goes on from there$/,
      )
      expect(readFileSync(out, 'utf8')).toBe('earlier')
      expect((await axport(pulling(out), { env })).code).toBe(0)
      if (format === 'ndjson') expect(linesOf(out)).toEqual(expected)
      expect(readdirSync(folder)).toEqual([`out.${format}`])
    },
  )

  test('is told before anything is asked of the service', async () => {
    const folder = emptyFolder()
    front.lists = []
    mkdirSync(join(folder, 'there.ndjson'))
    const cases: [string, string][] = [
      [join(folder, 'there.ndjson'), 'it is a folder'],
      [join(folder, 'nowhere', 'x.ndjson'), 'there is no such folder'],
    ]
    // Nobody may write there, not even root.
    if (existsSync('/proc/self')) cases.push(['/proc/x.ndjson', 'its folder cannot be written'])
    for (const [out, reason] of cases)
      expect(complaint(await axport(pulling(out), { env }), 1)).toBe(`cannot write ${out}: ${reason}`)
    expect(front.lists).toEqual([])
    expect(readdirSync(folder)).toEqual(['there.ndjson'])
  })
})

test('a wrong secret is told in one line, which never holds it', async () => {
  const finished = await axport(pulling('x.ndjson'), { env: { AXPORT_CLIENT_SECRET: 'Wr0ngSecret' } })
  expect(complaint(finished, 1)).toBe(
    'the service refuses the client id or its secret: check both, or ask its operator',
  )
})
