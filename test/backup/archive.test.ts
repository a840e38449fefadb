import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { type Batch, endMark, type Header } from '../../src/backup/archive.ts'
import { checkArchive, readBatches } from '../../src/backup/read.ts'
import { writeArchive } from '../../src/backup/write.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { holds } from '../support/property.ts'

afterAll(cleanUp)

const HEADER: Header = {
  axport_backup: 1,
  schema: '0001_source_data',
  version: '7.8.9',
  made_at: '2026-11-20T13:00:00Z',
  time_zone: 'America/Chicago',
  last_import_at: null,
  rows: { organizations: 3 },
}
const BATCHES: Batch[] = [
  { table: 'organizations', rows: 2, columns: { id: '{1,2}', name: '{"A ""b""\\\\",Ü}' } },
  { table: 'organizations', rows: 1, columns: { id: '{3}', name: '{"a\nb"}' } },
]

const path = join(emptyFolder(), 'a.backup')

async function bytesOf(...lines: object[]): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  const all = (async function* () {
    yield* lines as (Header | Batch)[]
  })()
  await writeArchive(all, bytes => void chunks.push(bytes))
  return Buffer.concat(chunks)
}

/** The reason why a file with these bytes is refused; undefined if the file is accepted. */
async function refusal(bytes: Uint8Array): Promise<string | undefined> {
  await writeFile(path, bytes)
  return await checkArchive(path).then(
    () => undefined,
    error => (error as Error).message.replace(path, 'FILE'),
  )
}

const DAMAGED = 'FILE is damaged or cut short: fetch it again, or take another backup'
const NOT_ONE = 'FILE is not a backup of axport: give a file that axport backup wrote'

let whole: Buffer
beforeAll(async () => {
  whole = await bytesOf(HEADER, ...BATCHES)
})

describe('a backup file', () => {
  test('is read with its original contents', async () => {
    await writeFile(path, whole)
    expect(await checkArchive(path)).toEqual(HEADER)
    expect(await Array.fromAsync(readBatches(path))).toEqual(BATCHES)
  })

  test('is refused if it is truncated after any byte', async () => {
    for (let length = 4; length < whole.length; length++)
      expect([length, await refusal(whole.subarray(0, length))]).toEqual([length, DAMAGED])
    for (let length = 0; length < 4; length++) expect(await refusal(whole.subarray(0, length))).toBe(NOT_ONE)
  })

  test('is refused if any of its bytes change, or if bytes follow its end', async () => {
    const places = fc.array(fc.nat(whole.length - 1), { minLength: 1, maxLength: 3 })
    const damage = fc.record({ places, by: fc.integer({ min: 1, max: 255 }), more: fc.nat(100) })
    await holds(
      fc.asyncProperty(damage, async ({ places, by, more }) => {
        const bytes = Buffer.concat([whole, Buffer.alloc(more)])
        for (const place of new Set(places)) bytes[place] = (bytes[place] as number) ^ by
        expect([DAMAGED, NOT_ONE]).toContain((await refusal(bytes)) as string)
      }),
      { runs: 300 },
    )
    expect(await refusal(Buffer.concat([whole, whole]))).toBe(DAMAGED)
  })

  test('is refused if it changes while it is read', async () => {
    await writeFile(path, whole)
    await checkArchive(path)
    const other = await bytesOf(HEADER, ...BATCHES, ...BATCHES)
    await writeFile(path, Buffer.concat([other.subarray(0, -99), whole.subarray(-99)]))
    expect(await Array.fromAsync(readBatches(path)).catch(error => error.message)).toContain('is damaged')
  })

  test.each([
    ['schema 9999_future', { schema: '9999_future' }],
    ['format 2', { axport_backup: 2 }],
  ])('of a newer axport, with %s, is refused with the version that wrote it', async (what, newer) => {
    expect(await refusal(await bytesOf({ ...HEADER, ...newer }))).toBe(
      `FILE was made by axport 7.8.9 and has ${what}, which this axport does not know: run a newer axport`,
    )
  })

  test('is refused if it is another kind of file', async () => {
    const text = Buffer.from('{"type":"organization","id":1}\n')
    for (const bytes of [text, gzipSync(text), Buffer.alloc(500)]) expect(await refusal(bytes)).toBe(NOT_ONE)
    expect(await refusal(zstdCompressSync(text))).toBe(DAMAGED)
    const packed = zstdCompressSync(text)
    const sealed = Buffer.concat([packed, endMark(createHash('sha256').update(packed).digest('hex'))])
    expect(await refusal(sealed)).toBe(NOT_ONE)
  })

  test('is refused with the reason if it does not exist or is a folder', async () => {
    const folder = emptyFolder()
    const why = (name: string) => checkArchive(join(folder, name)).catch(error => error.message)
    expect(await why('nothing')).toBe(`cannot read ${folder}/nothing: there is no such file`)
    expect(await why('.')).toBe(`cannot read ${folder}: it is a folder`)
  })
})
