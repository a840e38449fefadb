import { describe, expect, test } from 'bun:test'
import { sampleNdjson } from '../../src/sample/generate.ts'
import type { PartLine } from '../support/fixtures.ts'

type Text = 'name' | 'first_name' | 'email' | 'record_status' | 'certified_at'
type Reference = 'user_id' | 'organization_id' | 'product_id' | 'proctor_id'
interface Line extends Partial<Record<Text, string>>, Partial<Record<Reference, number>> {
  type: string
  id: number
  seid?: string | null
  legacy_record?: boolean
  parts?: PartLine[]
}

const text = (options: { assessments: number }) => [...sampleNdjson(options)].join('')
const parse = (ndjson: string) =>
  ndjson
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Line)
const hash = (ndjson: string) => new Bun.CryptoHasher('sha256').update(ndjson).digest('hex')
const ofType = (lines: Line[], type: string) => lines.filter(line => line.type === type)
const keys = (value: object) => Object.keys(value).join(' ')

const [end, ...sample] = parse(text({ assessments: 2000 })).reverse()
sample.reverse()
const users = ofType(sample, 'user')
const assessments = ofType(sample, 'assessment')
const allParts = assessments.flatMap(({ parts }) => parts ?? [])
const share = (lines: Line[], has: (line: Line) => boolean) => lines.filter(has).length / lines.length

/** The instant of a date if the platform's clocks are this many hours ahead of UTC. */
const instant = (certified = '', hours = 0) =>
  certified.length === 10 ? Date.parse(certified) - hours * 3_600_000 : Date.parse(certified)

describe('the output of the sample', () => {
  test('is the same for the same number', () => {
    expect(hash(text({ assessments: 1001 }))).toBe(hash(text({ assessments: 1001 })))
    expect(hash(text({ assessments: 1001 }))).not.toBe(hash(text({ assessments: 1000 })))
  })

  // A deliberate change of the sample changes this hash. Other machines and runtimes must not.
  test('is the same on every machine', () => {
    expect(hash(text({ assessments: 1000 }))).toBe(
      '349be0dabf7babd3aef95e3bffe368042380ababc64076d289b5b95511d3a743',
    )
  })

  test('ends with the number of its lines', () => {
    expect(end as object | undefined).toEqual({ type: 'end', lines: sample.length })
    expect(parse(text({ assessments: 0 })).at(-1) as object).toEqual({ type: 'end', lines: 9 })
  })

  test.each([0, 1, 5, 1000])('has exactly %d assessments if that many are requested', count => {
    const lines = parse(text({ assessments: count }))
    expect(ofType(lines, 'assessment')).toHaveLength(count)
    expect(ofType(lines, 'organization').length).toBeGreaterThanOrEqual(3)
    expect(ofType(lines, 'product').length).toBeGreaterThanOrEqual(3)
    expect(ofType(lines, 'user').length).toBeGreaterThanOrEqual(3)
  })

  test('is generated on demand, in chunks of whole lines of about 64 KB', () => {
    const chunks = sampleNdjson({ assessments: 10_000_000 })
    for (let count = 0; count < 3; count++) {
      const chunk = chunks.next().value ?? ''
      expect(chunk.endsWith('\n')).toBe(true)
      expect(chunk.length).toBeGreaterThanOrEqual(65_536)
      expect(chunk.length).toBeLessThan(68_000)
    }
  })

  test.each([
    [10, 400],
    [2000, 30_000],
  ])('of %d has only organizations, products and users of the output of %d', (small, large) => {
    const kept = (count: number) =>
      text({ assessments: count })
        .split('\n')
        .filter(line => line !== '' && !/^{"type":"(assessment|end)"/.test(line))
    const largest = new Set(kept(large))
    expect(kept(small).filter(line => !largest.has(line))).toEqual([])
  })

  test('never has an assessment with the id of a part in an output of another size', () => {
    const idsOf = (count: number) => {
      const lines = ofType(parse(text({ assessments: count })), 'assessment')
      const parts = lines.flatMap(({ id, parts }) => (parts ?? []).map(part => [part.id, id] as const))
      return { assessments: new Set(lines.map(({ id }) => id)), parts: new Map(parts) }
    }
    const sizes = [300, 2000, 7777].map(idsOf)
    for (const { assessments } of sizes) {
      for (const { parts } of sizes) expect([...parts.keys()].filter(id => assessments.has(id))).toEqual([])
    }
    // A part never has the id of a part of another assessment.
    const [, some, more] = sizes
    for (const [id, assessmentId] of some?.parts ?? [])
      expect(more?.parts.get(id) ?? assessmentId).toBe(assessmentId)
  })

  test('is refused for an invalid number', () => {
    for (const assessments of [-1, 1.5, Number.NaN, 100_000_001])
      expect(() => text({ assessments })).toThrow(RangeError)
  })
})

describe('the lines of the sample', () => {
  test('have only fields of the import format', () => {
    const shapes = new Set([
      'type id name',
      'type id name first_name last_name email seid record_status',
      'type id user_id organization_id product_id certified_at legacy_record proctor_id',
      'type id user_id organization_id product_id certified_at legacy_record parts',
    ])
    expect(new Set(sample.map(keys))).toEqual(shapes)
    expect(new Set(allParts.map(keys))).toEqual(new Set(['id name certified_at proctor_id']))
  })

  test.each([1, 7, 2000])('refer only to earlier lines, with %d assessments', count => {
    const known = new Set<string>()
    for (const line of parse(text({ assessments: count }))) {
      for (const { proctor_id } of line.type === 'assessment' ? (line.parts ?? [line]) : [])
        expect(known).toContain(`user ${proctor_id}`)
      if (line.type === 'assessment') {
        expect(known).toContain(`user ${line.user_id}`)
        expect(known).toContain(`organization ${line.organization_id}`)
        expect(known).toContain(`product ${line.product_id}`)
      }
      expect(known).not.toContain(`${line.type} ${line.id}`)
      known.add(`${line.type} ${line.id}`)
    }
  })

  test('never have an assessment or part with the id of another', () => {
    const ids = [...assessments, ...allParts].map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every(Number.isSafeInteger)).toBe(true)
  })

  test('date every part at or before its assessment, and one part at the same instant', () => {
    for (const { certified_at, parts } of assessments) {
      if (!parts) continue
      for (const hours of [-12, 0, 14])
        for (const part of parts)
          expect(instant(part.certified_at, hours)).toBeLessThanOrEqual(instant(certified_at, hours))
      expect(parts.map(part => part.certified_at)).toContain(certified_at ?? '')
    }
  })

  test('date no assessment after the end of June 2026, and some in its last days', () => {
    const until = Date.parse('2026-07-01')
    const latest = Math.max(...assessments.map(({ certified_at }) => instant(certified_at)))
    expect(latest).toBeLessThan(until)
    expect(latest).toBeGreaterThan(until - 5 * 86_400_000)
  })

  test('have no two users with the same email address or seid', () => {
    for (const field of ['email', 'seid'] as const) {
      const values = users.map(user => user[field]).filter(value => typeof value === 'string')
      expect(new Set(values).size).toBe(values.length)
    }
    expect(
      users.every(({ email }) => email === undefined || /^[a-z.]+\d+@example\.(org|com|net)$/.test(email)),
    ).toBe(true)
  })
})

describe('a sample of 2,000 assessments', () => {
  const educators = users.filter(({ first_name }) => first_name)

  test('has every kind of assessment in its proportion', () => {
    expect(share(assessments, ({ proctor_id }) => proctor_id !== undefined)).toBeWithin(0.6, 0.7)
    expect(share(assessments, ({ legacy_record }) => legacy_record === true)).toBeWithin(0.15, 0.25)
    expect(new Set(assessments.map(({ parts }) => parts?.length))).toEqual(new Set([undefined, 2, 3, 4]))
    expect(share(assessments, ({ certified_at }) => certified_at?.length === 10)).toBeWithin(0.05, 0.15)
    expect(share(assessments, ({ certified_at }) => /[+-]\d\d:\d\d$/.test(certified_at ?? ''))).toBeWithin(
      0.05,
      0.15,
    )
  })

  test('has every kind of user in its proportion', () => {
    expect(share(educators, ({ record_status }) => record_status === 'archived')).toBeWithin(0.03, 0.1)
    expect(share(educators, ({ seid }) => seid === null)).toBeWithin(0.06, 0.14)
    expect(share(educators, ({ seid }) => /^0\d{9}$/.test(seid ?? ''))).toBeWithin(0.05, 0.15)
    expect(share(educators, ({ seid }) => /^TX/.test(seid ?? ''))).toBeWithin(0.02, 0.08)
    expect(share(educators, ({ name = '' }) => /[^\x20-\x7e]/.test(name))).toBeWithin(0.08, 0.16)
    expect(educators.length).toBeLessThan(users.length)
  })

  test('has ties: equal names, and days with many assessments', () => {
    expect(new Set(educators.map(({ name }) => name)).size).toBeLessThan(educators.length)
    const perDay = Map.groupBy(assessments, ({ certified_at = '' }) => certified_at.slice(0, 10))
    expect(Math.max(...[...perDay.values()].map(({ length }) => length))).toBeGreaterThan(10)
  })
})
