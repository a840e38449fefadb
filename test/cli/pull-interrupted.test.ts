import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { axport, emptyFolder, errorLine, shell, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { linesOf, usePullStage } from '../support/pull.ts'
import { program, requires } from '../support/requires.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const stage = usePullStage()

/** Runs a pull into `out` that the service interrupts after three pages. */
async function keepSome(out: string): Promise<void> {
  const before = stage.front.lists.length
  stage.front.hook = n => (n > before + 2 ? new Response('', { status: 503 }) : undefined)
  const ended = await axport(stage.pulling(out, '--retry-for', '1s'), { env: stage.env })
  stage.front.hook = () => {}
  expect(errorLine(ended, 75)).toMatch(
    /answered 503; gave up after \d attempts; 199 of 1000 assessments are kept: /,
  )
}

describe('an interrupted pull', () => {
  /** Blocks the service at the n-th page until release() is called. */
  function blockAt(page: number): { reached: Promise<void>; release(): void } {
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const first = stage.front.lists.length
    stage.front.hook = async n => {
      if (n - first < page) return
      reached.resolve()
      await released.promise
    }
    const release = () => {
      stage.front.hook = () => {}
      released.resolve()
    }
    return { reached: reached.promise, release }
  }

  test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'by %s is continued by the same command',
    async signal => {
      const folder = emptyFolder()
      const out = join(folder, 'out.ndjson')
      writeFileSync(out, 'earlier')
      const blocked = blockAt(5)
      const running = await start(stage.pulling(out), { env: stage.env })
      await blocked.reached
      running.signal(signal)
      const { code, stdout, stderr } = await running.finished
      blocked.release()
      expect(stdout).toBe('')
      if (signal === 'SIGKILL') expect(code).toBe(137)
      else {
        expect(code).toBe(75)
        expect(stderr).toMatch(/^axport: interrupted; \d+ of 1000 assessments are kept: .*\n$/)
      }
      expect(readFileSync(out, 'utf8')).toBe('earlier')
      const again = await axport(stage.pulling(out), { env: stage.env })
      expect(again.stdout).toBe(`wrote 1000 assessments to ${out}\n`)
      expect(again.stderr).toMatch(/^note: going on after \d+ .*\n$/)
      expect(linesOf(out)).toEqual(stage.expected)
      expect(readdirSync(folder)).toEqual(['out.ndjson'])
    },
  )

  test('by Ctrl-C before the first page leaves no file', async () => {
    const folder = emptyFolder()
    const blocked = blockAt(1)
    const running = await start(stage.pulling(join(folder, 'out.ndjson')), { env: stage.env })
    await blocked.reached
    running.signal('SIGINT')
    expect(await running.finished).toEqual({
      code: 130,
      stdout: '',
      stderr: 'axport: interrupted: nothing is kept\n',
    })
    blocked.release()
    expect(readdirSync(folder)).toEqual([])
  })

  test('locks its file: another pull into the same file is refused', async () => {
    const out = join(emptyFolder(), 'out.ndjson')
    const blocked = blockAt(3)
    const running = await start(stage.pulling(out), { env: stage.env })
    await blocked.reached
    expect(errorLine(await axport(stage.pulling(out), { env: stage.env }), 1)).toBe(
      `another axport pull is writing ${out}: wait for it, or give another --out`,
    )
    blocked.release()
    expect((await running.finished).code).toBe(0)
    expect(linesOf(out)).toEqual(stage.expected)
  })

  test('into a compressed file keeps the old file until the continued pull replaces it', async () => {
    const out = join(emptyFolder(), 'out.csv.gz')
    writeFileSync(out, 'earlier')
    await keepSome(out)
    expect(readFileSync(out, 'utf8')).toBe('earlier')
    expect((await axport(stage.pulling(out), { env: stage.env })).stderr).toMatch(
      /^note: going on after 199 .*\n$/,
    )
    expect(Bun.gunzipSync(readFileSync(out)).length).toBeGreaterThan(100_000)
  })
})

describe('an output that cannot be written', () => {
  test('is reported in one line if the disk is full, for a device and for redirected standard output', async () => {
    expect(
      errorLine(await axport(stage.pulling('/dev/full', '--format', 'ndjson'), { env: stage.env }), 1),
    ).toBe('cannot write /dev/full: no space is left')
    const redirected = await shell(`"$AXPORT" ${stage.pulling('-').join(' ')} >/dev/full`, { env: stage.env })
    expect(errorLine(redirected, 1)).toBe('cannot write to standard output (ENOSPC)')
  })

  test.each(['ndjson', 'csv'])(
    'at a limit of the file size leaves the earlier %s, and the same command continues without the limit',
    async format => {
      const folder = emptyFolder()
      const out = join(folder, `out.${format}`)
      writeFileSync(out, 'earlier')
      // The partial file has about 490,000 bytes, more than this limit. For CSV the limit applies after the
      // conversion.
      const blocks = 400
      const limited = `trap '' XFSZ; ulimit -f ${blocks}; "$AXPORT" ${stage.pulling(out).join(' ')}`
      const failed = errorLine(await shell(limited, { env: stage.env }), 75)
      expect(failed).toMatch(
        /^cannot write .*out\.\w+\.partial: the file would be larger than is permitted; \d+ of 1000 assessments are kept: /,
      )
      expect(readFileSync(out, 'utf8')).toBe('earlier')
      expect((await axport(stage.pulling(out), { env: stage.env })).code).toBe(0)
      if (format === 'ndjson') expect(linesOf(out)).toEqual(stage.expected)
      expect(readdirSync(folder)).toEqual([`out.${format}`])
    },
  )

  test('is reported before the first request to the service', async () => {
    const folder = emptyFolder()
    stage.front.lists = []
    mkdirSync(join(folder, 'there.ndjson'))
    const cases: [string, string][] = [
      [join(folder, 'there.ndjson'), 'it is a folder'],
      [join(folder, 'nowhere', 'x.ndjson'), 'there is no such folder'],
    ]
    // No user can create files there, not even root.
    if (existsSync('/proc/self'))
      cases.push(['/proc/x.ndjson', 'it is of another user, or its folder cannot be written'])
    for (const [out, reason] of cases)
      expect(errorLine(await axport(stage.pulling(out), { env: stage.env }), 1)).toBe(
        `cannot write ${out}: ${reason}`,
      )
    expect(stage.front.lists).toEqual([])
    expect(readdirSync(folder)).toEqual(['there.ndjson'])
  })
})

const isRoot = { name: 'to be root', isHere: process.getuid?.() === 0 }
requires(isRoot, program('setpriv', 'util-linux')).test(
  'a pull of another user does not change the files that an interrupted pull has kept',
  async () => {
    const cwd = emptyFolder()
    await keepSome(join(cwd, 'out.ndjson'))
    const kept = ['out.ndjson.partial', 'out.ndjson.partial.state'].map(name => join(cwd, name))
    const before = kept.map(path => readFileSync(path, 'latin1'))
    chmodSync(cwd, 0o777)
    // The other user may not have access to the executable in its folder.
    const asNobody = `cp "$AXPORT" axport; setpriv --reuid=65534 --regid=65534 --clear-groups ./axport`
    const failed = await shell(`${asNobody} ${stage.pulling('out.ndjson').join(' ')}`, {
      env: stage.env,
      cwd,
    })
    expect(errorLine(failed, 1)).toBe(
      'cannot write out.ndjson.partial.state: it is of another user, or its folder cannot be written',
    )
    expect(kept.map(path => readFileSync(path, 'latin1'))).toEqual(before)
    expect((await axport(stage.pulling(join(cwd, 'out.ndjson')), { env: stage.env })).stderr).toMatch(
      /^note: going on after 199 .*\n$/,
    )
  },
)
