import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/document.ts'
import { cleanUp, emptyFolder, launch } from '../support/executable.ts'
import { type Front, pullFrom, record, startStub } from '../support/pull.ts'

setDefaultTimeout(300_000)

const YESTERDAY = Array.from({ length: 250 }, (_, id) => record(id))
const TODAY = [
  ...YESTERDAY.slice(2).map(line => line.replace('"Name 99"', '"A new name"')),
  ...[900, 901].map(id => record(id)),
]
const lines = (...texts: string[]) => texts.map(text => `${text}\n`).join('')
const CHANGES = lines(
  `{"change":"changed","id":99,"record":${record(99, 'A new name')}}`,
  ...[900, 901].map(id => `{"change":"added","id":${id},"record":${record(id)}}`),
  ...[0, 1].map(id => `{"change":"removed","id":${id}}`),
)

const records = [...YESTERDAY]
let stub: Front
beforeAll(() => {
  stub = startStub(records)
})
afterAll(async () => {
  await stub?.stop()
  await cleanUp()
})

describe('pull --changes', () => {
  const [out, changes] = ['copy.ndjson', 'changes.ndjson']
  /** The folder as yesterday left it: yesterday's changes are applied, and the file is in place. */
  let start: string

  /** Pulls in a folder. */
  const pull = (folder: string, previous: string) =>
    pullFrom(stub.baseUrl, { clientId: 'id', clientSecret: 'secret' }, join(folder, out), {
      comparison: { previous, changes: join(folder, changes), maxRemoved: { percent: 10 } },
    })
  const textOf = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8')

  beforeAll(async () => {
    records.splice(0, records.length, ...YESTERDAY)
    start = emptyFolder()
    mkdirSync(join(start, 'applied'))
    await pull(start, '/dev/null')
    // Yesterday's output stays here, too: the new file replaces it.
    cpSync(join(start, out), join(start, 'applied', out))
    records.splice(0, records.length, ...TODAY)
  })

  /** What holds at every moment. */
  function expectSound(folder: string): void {
    expect(readFileSync(join(folder, 'applied', out))).toEqual(readFileSync(join(start, 'applied', out)))
    const [isNew, isYesterdays] = [lines(...TODAY), lines(...YESTERDAY)].map(
      text => textOf(folder, out) === text,
    )
    expect(isNew || isYesterdays).toBe(true)
    const areNew = textOf(folder, changes) === CHANGES
    expect(areNew || textOf(folder, changes) === textOf(start, changes)).toBe(true)
    if (isNew) expect(areNew).toBe(true)
  }

  async function expectSame(folder: string): Promise<void> {
    const { result } = await pull(folder, join(folder, 'applied', out))
    expect(result.changes).toEqual({ added: 2, changed: 1, removed: 2 })
    expect([textOf(folder, changes), textOf(folder, out)]).toEqual([CHANGES, lines(...TODAY)])
    expect(readdirSync(folder).sort()).toEqual(['applied', changes, out].sort())
  }

  // A process that is killed by SIGKILL leaves the files as they are at that moment.
  test('keeps its files sound at each of its steps, and after a kill there the next pull gives the same changes', async () => {
    const [folder, copies] = [emptyFolder(), emptyFolder()]
    cpSync(start, folder, { recursive: true })
    const options = ['--base-url', stub.baseUrl, '--client-id', 'id', '--out', out, '--changes', changes]
    const preload = ['--preload', join(import.meta.dir, 'support', 'copy-steps.ts')]
    const command = [process.execPath, ...preload, join(ROOT, 'src', 'main.ts'), 'pull', ...options]
    const env = { AXPORT_CLIENT_SECRET: 'secret', COPIES: copies }
    const pulled = await launch([...command, '--previous', `applied/${out}`], { env, cwd: folder }).finished
    expect(pulled, pulled.stderr).toMatchObject({ code: 0 })

    const left = readdirSync(copies).map(step => join(copies, step))
    // Three pages, two files with their names and their modes.
    expect(left.length).toBeGreaterThan(10)
    for (const each of [...left, folder]) {
      expectSound(each)
      await expectSame(each)
    }
  })
})
