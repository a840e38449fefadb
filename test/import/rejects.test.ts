import { afterAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Reject } from '../../src/import/rejects.ts'
import { RejectsFile } from '../../src/import/rejects-file.ts'
import { describePlace } from '../../src/import/source-rows.ts'
import {
  assessment,
  EDUCATOR,
  educator,
  multiPart,
  PROCTOR,
  REFERENCED,
  removal,
} from '../support/fixtures.ts'
import { idsOf, importLines, importWith, staleRecords, useDatabase } from '../support/import.ts'
import { requires } from '../support/requires.ts'
import { missing, NO_JSON } from '../support/wordings.ts'

describe('an import with --rejects', () => {
  const database = useDatabase()

  async function load(...lines: (object | string)[]) {
    const rejects: Reject[] = []
    const texts = lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line)))
    const result = await importWith(database.sql, { onReject: reject => void rejects.push(reject) }, ...texts)
    if (!result.loaded) throw new Error('nothing was loaded')
    expect(result.rejected).toBe(rejects.length)
    expect(await staleRecords(database.sql)).toBeEmpty()
    return { result, rejects, texts, reasons: rejects.map(one => `${describePlace(one)}: ${one.reason}`) }
  }

  test('loads the good lines, and reports each bad one with its reason and text', async () => {
    const { result, rejects, texts } = await load(
      ...REFERENCED,
      'nonsense',
      assessment(10),
      '{"type":"user","id":6}',
      assessment(11),
    )
    expect(rejects).toEqual([
      { line: 5, reason: NO_JSON, text: texts[4] as string },
      { line: 7, reason: 'name is missing', text: texts[6] as string },
    ])
    expect(await idsOf(database.sql, 'assessments')).toEqual([10, 11])
    expect(result).toMatchObject({ lines: 8, rejected: 2, summary: { assessments: { inserted: 2 } } })
  })

  test('rejects a line that refers to a rejected line', async () => {
    const { reasons } = await load(
      ...REFERENCED,
      educator(5, { name: '' }),
      assessment(10, { user_id: 5 }),
      assessment(11, { proctor_id: 5 }),
      assessment(12),
    )
    expect(reasons).toEqual([
      'line 5: name is blank',
      `line 6: ${missing('user_id', 'user 5')}`,
      `line 7: ${missing('proctor_id', 'user 5')}`,
    ])
    expect(await idsOf(database.sql, 'assessments')).toEqual([12])
  })

  test('keeps a stored row whose new line is bad, and accepts references to it', async () => {
    await importLines(database.sql, ...REFERENCED)
    const { reasons } = await load(educator(EDUCATOR, { name: 5 }), assessment(10))
    expect(reasons).toEqual(['line 1: name must be a string'])
    expect(await idsOf(database.sql, 'assessments')).toEqual([10])
  })

  test('rejects lines until the remaining ones are consistent', async () => {
    await importLines(
      database.sql,
      ...REFERENCED,
      multiPart(10, [11]),
      multiPart(20, [21]),
      multiPart(30, [31]),
    )
    // 30 cannot be loaded and keeps part 31. So 20 cannot have part 31 and keeps 21. So 10 cannot have part
    // 21.
    const { reasons } = await load(
      multiPart(10, [21]),
      multiPart(20, [31]),
      multiPart(30, [32], { user_id: 99 }),
      multiPart(40, [11]),
      removal('user', 7),
    )
    expect(reasons).toEqual([
      'line 1: part 21 is also a part of assessment 20',
      'line 2: part 31 is also a part of assessment 30',
      `line 3: ${missing('user_id', 'user 99')}`,
      'line 4: part 11 is also a part of assessment 10',
    ])
    expect(await idsOf(database.sql, 'assessment_parts')).toEqual([11, 21, 31])
  })

  test('does not delete a row that a remaining row needs', async () => {
    await importLines(database.sql, ...REFERENCED, educator(3), assessment(10, { user_id: 3 }))
    const { reasons } = await load(removal('user', 3), assessment(10, { user_id: 99 }), educator(4))
    expect(reasons).toEqual([
      'line 1: user 3 cannot be deleted: assessment 10 needs it (delete that, too, or archive the user)',
      `line 2: ${missing('user_id', 'user 99')}`,
    ])
    expect(await idsOf(database.sql, 'users')).toEqual([3, 4, PROCTOR, EDUCATOR])
  })

  test('reports all reasons against a line at once, with the number of the other line', async () => {
    const { reasons } = await load(
      ...REFERENCED,
      removal('user', 5),
      assessment(10, { user_id: 5, product_id: 9 }),
    )
    expect(reasons).toEqual([
      `line 6: ${missing('product_id', 'product 9')}; user_id: user 5 is deleted by line 5 (delete this, too, or archive the user)`,
    ])
  })

  test('reports a line that is too long without its text, and every other with its exact text', async () => {
    const strange = '{"name":"a\u0000b \\ud800 \u2028 \\" 👩‍🏫"\t}'
    const { rejects } = await load('x'.repeat(1_100_000), strange)
    expect(rejects).toEqual([
      { line: 1, reason: 'longer than 1048576 characters', text: undefined },
      { line: 2, reason: NO_JSON, text: strange },
    ])
  })
})

describe('the file of rejects', () => {
  const folder = mkdtempSync(join(tmpdir(), 'axport-rejects-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'rejects.ndjson')
  const reject = { line: 3, reason: NO_JSON, text: 'x' }

  test('has no name before it is complete, so that a killed process leaves nothing; only its owner can read it', async () => {
    const file = new RejectsFile(path)
    file.begin()
    file.write(reject)
    file.write({ file: 'users.csv', line: 4, reason: 'longer', text: undefined })
    expect(readdirSync(folder)).toEqual([])
    await file.keep()
    file.discard()
    expect(readdirSync(folder)).toEqual(['rejects.ndjson'])
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8')).toBe(
      `{"line":3,"reason":"${NO_JSON}","text":"x"}\n{"file":"users.csv","line":4,"reason":"longer","text":null}\n`,
    )
  })

  test('keeps the mode of the file that it replaces', async () => {
    writeFileSync(path, 'before')
    chmodSync(path, 0o640)
    await new RejectsFile(path).keep()
    expect([statSync(path).mode & 0o777, readFileSync(path, 'utf8')]).toEqual([0o640, ''])
  })

  requires({ name: 'root', isHere: process.getuid?.() === 0 }).test(
    'written by root belongs to the owner of the file that it replaces, or else of the folder, as that of a unit',
    async () => {
      const own = mkdtempSync(join(folder, 'unit-'))
      chownSync(own, 2, 3)
      const owners: number[][] = []
      for (const uid of [2, 4]) {
        if (uid === 4) chownSync(join(own, 'rejects'), uid, 3)
        await new RejectsFile(join(own, 'rejects')).keep()
        const stat = statSync(join(own, 'rejects'))
        owners.push([stat.uid, stat.gid, stat.mode & 0o777])
      }
      expect(owners).toEqual([
        [2, 3, 0o600],
        [4, 3, 0o600],
      ])
      rmSync(own, { recursive: true })
    },
  )

  test('is not written if the import fails, and an older file stays', () => {
    writeFileSync(path, 'before')
    const file = new RejectsFile(path)
    file.begin()
    file.write(reject)
    file.discard()
    file.begin()
    file.write(reject)
    expect(readFileSync(path, 'utf8')).toBe('before')
    expect(readdirSync(folder)).toEqual(['rejects.ndjson'])
  })
})
