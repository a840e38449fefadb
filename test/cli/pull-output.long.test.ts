import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { selfSigned } from '../support/certificate.ts'
import { axport, emptyFolder, errorLine, shell, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { type Front, linesOf, startFront, usePullStage } from '../support/pull.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const stage = usePullStage()

describe('axport pull', () => {
  test('compresses NDJSON and CSV if the name ends in .gz, into a file and into a device', async () => {
    const cwd = emptyFolder()
    const unpacked = async (name: string) => {
      const { stdout } = await axport(stage.pulling(name), { env: stage.env, cwd })
      expect(stdout).toBe(`wrote 1000 assessments to ${name}\n`)
      return Buffer.from(Bun.gunzipSync(readFileSync(join(cwd, name)))).toString()
    }
    const lines = stage.expected.map(line => `${line}\n`).join('')
    expect(await unpacked('a.ndjson.gz')).toBe(lines)
    const csv = await unpacked('a.csv.gz')
    expect(csv).toStartWith('id,seid,')
    expect(await unpacked('b.csv.GZ')).toBe(csv)
    // The command writes into a named pipe, which gzip reads at the same time.
    const piped = `mkfifo a.jsonl.gz; gzip -dc < a.jsonl.gz > plain & "$AXPORT" ${stage.pulling('a.jsonl.gz').join(' ')}; wait`
    expect((await shell(piped, { env: stage.env, cwd })).code).toBe(0)
    expect(readFileSync(join(cwd, 'plain'), 'utf8')).toBe(lines)
  })

  test('prints no summary to standard output if the records go there', async () => {
    for (const out of ['/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'])
      expect(await axport(stage.pulling(out), { env: stage.env })).toEqual({
        code: 0,
        stdout: stage.expected.map(line => `${line}\n`).join(''),
        stderr: '',
      })
  })

  test('writes to standard output, and ends without an error when the reader closes the pipe', async () => {
    const { code, stdout, stderr } = await axport(stage.pulling('-'), { env: stage.env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(stage.expected.map(line => `${line}\n`).join(''))
    const piped = `("$AXPORT" ${stage.pulling('-').join(' ')}; echo $? >&2) | head -n 2`
    expect(await shell(piped, { env: stage.env })).toEqual({
      code: 0,
      stdout: `${stage.expected[0]}\n${stage.expected[1]}\n`,
      // No message may claim that all records were read.
      stderr: '130\n',
    })
  })

  test('into a pipe that is no longer read ends at a signal', async () => {
    const lines = [
      'mkfifo pipe',
      `"$AXPORT" ${stage.pulling('pipe', '--format', 'ndjson').join(' ')} & pull=$!`,
      // The pull writes from then on, and blocks when the pipe is full.
      'exec 3< pipe; head -c 1 <&3 > /dev/null',
      'kill -TERM $pull; wait $pull; echo $?',
    ]
    expect(await shell(lines.join('\n'), { env: stage.env, cwd: emptyFolder() })).toEqual({
      code: 0,
      stdout: '130\n',
      stderr: 'axport: interrupted: the output is incomplete\n',
    })
  })

  test('writes through a symbolic link into its target', async () => {
    const folder = emptyFolder()
    mkdirSync(join(folder, 'there'))
    writeFileSync(join(folder, 'there', 'real.ndjson'), 'earlier')
    symlinkSync(join('there', 'real.ndjson'), join(folder, 'link.ndjson'))
    await axport(stage.pulling('link.ndjson'), { env: stage.env, cwd: folder })
    expect(linesOf(join(folder, 'there', 'real.ndjson'))).toEqual(stage.expected)
    expect(readdirSync(folder).sort()).toEqual(['link.ndjson', 'there'])
  })
})

describe('axport pull over HTTPS', () => {
  const certificate = selfSigned('ours')
  let secure: Front
  let trusting: Record<string, string>
  beforeAll(() => {
    secure = startFront(stage.service, certificate)
    const authority = join(emptyFolder(), 'authority.pem')
    writeFileSync(authority, certificate.cert)
    trusting = { ...stage.env, NODE_EXTRA_CA_CERTS: authority }
  })
  afterAll(async () => {
    await secure?.stop()
  })

  test('accepts a service whose certificate authority NODE_EXTRA_CA_CERTS names, and no other service', async () => {
    const out = join(emptyFolder(), 'out.ndjson')
    const args = stage.pulling(out, '--base-url', secure.baseUrl)
    expect(await axport(args, { env: trusting })).toMatchObject({ code: 0, stderr: '' })
    expect(linesOf(out)).toEqual(stage.expected)
    expect(errorLine(await axport(args, { env: stage.env }), 1)).toBe(
      `the certificate of ${secure.baseUrl} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): name the file of its authority in NODE_EXTRA_CA_CERTS`,
    )
  })

  test('reports a certificate for another host name', async () => {
    const elsewhere = secure.baseUrl.replace('127.0.0.1', '0.0.0.0')
    const args = stage.pulling('x.ndjson', '--base-url', elsewhere)
    expect(errorLine(await axport(args, { env: trusting }), 1)).toBe(
      `the certificate of ${elsewhere} is for another name: check --base-url; if it is right, another host answers in its place, as the login page of a network does`,
    )
  })
})
