import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/document.ts'
import { cleanUp, emptyFolder, launch } from '../support/executable.ts'
import { type Front, record, startStub } from '../support/pull.ts'

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
/** The program in one file, which starts in half the time of its sources. */
let program: string
beforeAll(async () => {
  stub = startStub(records)
  const built = await Bun.build({
    entrypoints: [join(ROOT, 'src', 'main.ts')],
    target: 'bun',
    outdir: emptyFolder(),
  })
  program = built.outputs.find(({ kind }) => kind === 'entry-point')?.path ?? ''
})
afterAll(async () => {
  await stub?.stop()
  await cleanUp()
})

const unpack = { '': (bytes: Buffer) => bytes, '.zst': Bun.zstdDecompressSync }

describe.each(['', '.zst'] as const)('pull --changes into copy.ndjson%s', ending => {
  const [out, changes] = [`copy.ndjson${ending}`, `changes.ndjson${ending}`]
  /** The folder as yesterday left it: yesterday's changes are applied, and the file is in place. */
  let start: string

  /** Runs the pull in a folder; kills it before a step. */
  async function pull(folder: string, previous: string, killAt?: number) {
    const options = ['--base-url', stub.baseUrl, '--client-id', 'id', '--out', out, '--changes', changes]
    const env = { AXPORT_CLIENT_SECRET: 'secret', ...(killAt && { KILL_AT: String(killAt) }) }
    const preload = ['--preload', join(import.meta.dir, 'support', 'kill-at.ts')]
    const command = [process.execPath, ...preload, program, 'pull', ...options, '--previous', previous]
    return await launch(command, { env, cwd: folder }).finished
  }
  const textOf = (folder: string, name: string) =>
    Buffer.from(unpack[ending](readFileSync(join(folder, name)))).toString()

  beforeAll(async () => {
    records.splice(0, records.length, ...YESTERDAY)
    start = emptyFolder()
    mkdirSync(join(start, 'applied'))
    expect(await pull(start, '/dev/null')).toMatchObject({ code: 0 })
    // Yesterday's output stays here, too: the new file replaces it.
    for (const name of [out, `${out}.pull`]) cpSync(join(start, name), join(start, 'applied', name))
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
    const again = await pull(folder, `applied/${out}`)
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('2 added, 1 changed, 2 removed') })
    expect([textOf(folder, changes), textOf(folder, out)]).toEqual([CHANGES, lines(...TODAY)])
    expect(readdirSync(folder).sort()).toEqual(['applied', changes, out, `${out}.pull`].sort())
  }

  test('keeps its files sound when it is killed before any of its steps, and the same command gives the same changes', async () => {
    // Writes may be joined, so each run has as many steps as it has.
    for (let step = 1, code = 137; code !== 0; step++) {
      const folder = emptyFolder()
      cpSync(start, folder, { recursive: true })
      code = (await pull(folder, `applied/${out}`, step)).code
      expect([0, 137]).toContain(code)
      expectSound(folder)
      await expectSame(folder)
      rmSync(folder, { recursive: true })
      // Three pages, three files with their names and their modes.
      if (code === 0) expect(step).toBeGreaterThan(15)
    }
  })
})
