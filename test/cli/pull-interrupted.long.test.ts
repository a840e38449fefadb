import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { axport, emptyFolder, errorLine, shell, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { linesOf, usePullStage } from '../support/pull.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const stage = usePullStage()

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

describe('an interrupted pull', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 130],
    ['SIGKILL', 137],
  ] as const)(
    'by %s leaves the earlier file, and the same command then replaces it and leaves no other file',
    async (signal, expected) => {
      const folder = emptyFolder()
      const out = join(folder, 'out.ndjson')
      writeFileSync(out, 'earlier')
      const blocked = blockAt(5)
      const running = await start(stage.pulling(out), { env: stage.env })
      await blocked.reached
      running.signal(signal)
      const { code, stdout, stderr } = await running.finished
      blocked.release()
      expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
      if (signal !== 'SIGKILL') expect(stderr).toBe('axport: interrupted: nothing was written\n')
      expect(readdirSync(folder)).toEqual(['out.ndjson'])
      expect(readFileSync(out, 'utf8')).toBe('earlier')
      const again = await axport(stage.pulling(out), { env: stage.env })
      expect(again).toEqual({ code: 0, stdout: `wrote 1000 assessments to ${out}\n`, stderr: '' })
      expect(linesOf(out)).toEqual(stage.expected)
      expect(readdirSync(folder)).toEqual(['out.ndjson'])
    },
  )

  test('with --changes leaves neither of its files', async () => {
    const folder = emptyFolder()
    const blocked = blockAt(5)
    const comparison = ['--previous', '/dev/null', '--changes', join(folder, 'changes.ndjson')]
    const running = await start(stage.pulling(join(folder, 'out.ndjson'), ...comparison), { env: stage.env })
    await blocked.reached
    running.signal('SIGTERM')
    expect((await running.finished).code).toBe(130)
    blocked.release()
    expect(readdirSync(folder)).toEqual([])
  })

  test('of two into the same file at a time, the one that ends first writes it, and the other one fails', async () => {
    const folder = emptyFolder()
    const out = join(folder, 'out.ndjson')
    const blocked = blockAt(3)
    const first = await start(stage.pulling(out), { env: stage.env })
    await blocked.reached
    stage.front.hook = () => {}
    const second = await axport(stage.pulling(out), { env: stage.env })
    blocked.release()
    expect(second.code).toBe(0)
    expect(errorLine(await first.finished, 1)).toBe(`another process is writing ${out}: it was not replaced`)
    expect(linesOf(out)).toEqual(stage.expected)
    expect(readdirSync(folder)).toEqual(['out.ndjson'])
  })
})

describe('an output that cannot be written', () => {
  test('is reported in one line if the disk is full, for a device and for redirected standard output', async () => {
    expect(
      errorLine(await axport(stage.pulling('/dev/full', '--format', 'ndjson'), { env: stage.env }), 1),
    ).toBe('cannot write /dev/full: no space is left')
    const redirected = await shell(`"$AXPORT" ${stage.pulling('-').join(' ')} >/dev/full`, { env: stage.env })
    expect(errorLine(redirected, 1)).toBe('standard output cannot be written: no space is left')
  })

  test.each(['ndjson', 'csv'])(
    'at a limit of the file size leaves the earlier %s and nothing beside it',
    async format => {
      const folder = emptyFolder()
      const out = join(folder, `out.${format}`)
      writeFileSync(out, 'earlier')
      // In blocks of 512 bytes: the file has about 490,000.
      const limited = `trap '' XFSZ; ulimit -f 400; "$AXPORT" ${stage.pulling(out).join(' ')}`
      expect(errorLine(await shell(limited, { env: stage.env }), 1)).toBe(
        `cannot write ${out}: the file would be larger than is permitted`,
      )
      expect(readFileSync(out, 'utf8')).toBe('earlier')
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
    if (existsSync('/proc/self')) cases.push(['/proc/x.ndjson', 'there is no such folder'])
    for (const [out, reason] of cases)
      expect(errorLine(await axport(stage.pulling(out), { env: stage.env }), 1)).toBe(
        `cannot write ${out}: ${reason}`,
      )
    expect(stage.front.lists).toEqual([])
    expect(readdirSync(folder)).toEqual(['there.ndjson'])
  })
})
