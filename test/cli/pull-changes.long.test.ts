import { beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { axport, emptyFolder, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { linesOf, usePullStage } from '../support/pull.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const stage = usePullStage()

let cwd: string
beforeEach(() => {
  cwd = emptyFolder()
})

const run = (...more: string[]) => axport(stage.pulling('new.ndjson', ...more), { env: stage.env, cwd })

describe('axport pull --previous --changes', () => {
  test('writes the changes, and their counts to standard error and into its JSON', async () => {
    const first = await run('--previous', '/dev/null', '--changes', 'changes.ndjson')
    expect(first).toEqual({
      code: 0,
      stdout: 'wrote 1000 assessments to new.ndjson\n',
      stderr: 'changes since /dev/null: 1000 added, 0 changed, 0 removed\n',
    })
    expect(readdirSync(cwd).sort()).toEqual(['changes.ndjson', 'new.ndjson'])
    expect(linesOf(join(cwd, 'changes.ndjson')).map(line => JSON.parse(line))).toEqual(
      stage.expected.map(line => {
        const record = JSON.parse(line)
        return { change: 'added', id: record.id, record }
      }),
    )
    mkdirSync(join(cwd, 'old'))
    renameSync(join(cwd, 'new.ndjson'), join(cwd, 'old', 'new.ndjson'))
    const second = await run('--previous', 'old/new.ndjson', '--changes', 'changes.ndjson', '--json')
    expect(second).toMatchObject({
      code: 0,
      stderr: 'changes since old/new.ndjson: 0 added, 0 changed, 0 removed\n',
    })
    expect(JSON.parse(second.stdout)).toEqual({
      records: 1000,
      file: 'new.ndjson',
      format: 'ndjson',
      restarts: 0,
      changes: { file: 'changes.ndjson', added: 0, changed: 0, removed: 0 },
    })
    expect(readFileSync(join(cwd, 'changes.ndjson')).length).toBe(0)
  })

  test.each([
    [
      ['--changes', 'c.ndjson'],
      '--previous, --changes and --max-removed belong together: give the first two',
    ],
    [
      ['--previous', 'p.ndjson'],
      '--previous, --changes and --max-removed belong together: give the first two',
    ],
    [['--max-removed', '5%'], '--previous, --changes and --max-removed belong together: give the first two'],
    [
      ['--previous', '/dev/null', '--changes', 'c.csv'],
      '--changes writes a plain file of NDJSON: name it .ndjson, not c.csv',
    ],
    [
      ['--previous', '/dev/null', '--changes', '-'],
      '--changes writes a plain file of NDJSON: name it .ndjson, not -',
    ],
    [
      ['--previous', '/dev/null', '--changes', 'c.ndjson', '--out', '-'],
      '--changes needs a plain file of NDJSON as --out',
    ],
    [
      ['--previous', '/dev/null', '--changes', 'c.ndjson', '--out', 'x.ndjson.gz'],
      '--changes needs a plain file of NDJSON as --out',
    ],
    [
      ['--previous', '/dev/null', '--changes', 'new.ndjson'],
      '--out, --previous and --changes must name three different files',
    ],
  ])('called with %j is called wrongly', async (options, message) => {
    expect(errorLine(await run(...options), 2)).toBe(message)
    expect(readdirSync(cwd)).toEqual([])
  })

  test('reports changes that cannot be written before the first request', async () => {
    stage.front.lists = []
    const failed = await run('--previous', '/dev/null', '--changes', 'nowhere/c.ndjson')
    expect(errorLine(failed, 1)).toBe('cannot write nowhere/c.ndjson: there is no such folder')
    expect(stage.front.lists).toEqual([])
  })
})
