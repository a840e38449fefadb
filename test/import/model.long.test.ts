import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import { erasePerson, removeTombstone } from '../../src/erasure/erase.ts'
import { everything, importLines, staleRecords, useDatabase } from '../support/import.ts'
import { Floors, holds } from '../support/property.ts'

/**
 * A model of an import in memory. A line is a whole record. Lines for one id must be equal. The file is loaded if the
 * result is complete and consistent. Lines of erased people are left out; a person whom other assessments need is kept
 * without a name, until the first load after the last of them is gone.
 */
interface Line {
  type: 'organization' | 'product' | 'user' | 'assessment'
  id: number
  deleted?: boolean
  name?: string
  email?: string | null
  seid?: string | null
  legacy_record?: boolean | null
  user_id?: number
  organization_id?: number
  product_id?: number
  certified_at?: string
  proctor_id?: number
  parts?: { id: number; name: string; certified_at: string; proctor_id: number }[]
}
type World = Map<string, Line>

const keyOf = ({ type, id }: Line) => `${type} ${id}`

/** The ids of erased people. A line that does not name one of them is about nobody who was erased. */
type Erased = Set<number>

/**
 * The world after the lines, and the erased people whose lines were left out; undefined if lines contradict
 * each other.
 */
function after(before: World, lines: Line[], erased: Erased): { next: World; left: Set<number> } | undefined {
  const isKept = (line: Line) => line.type !== 'user' || !erased.has(line.id) || isNeeded(before, line.id)
  const world: World = new Map([...before].filter(([, line]) => isKept(line)))
  const next = new Map(world)
  const left = new Set<number>()
  const gone = new Set<number>()
  const named: Line[] = []
  for (const [key, [line, ...others]] of Map.groupBy(lines, keyOf)) {
    if (!line) return undefined
    const isOneThing = others.every(other => Bun.deepEquals(given(other), given(line)))
    if (line.type === 'user' && erased.has(line.id) && !(isOneThing && line.deleted)) {
      left.add(line.id)
      if (world.has(key)) next.set(key, nobody(line.id))
      continue
    }
    if (!isOneThing) {
      for (const each of [line, ...others]) {
        const owner = ownerOf(each, erased)
        if (owner === undefined) return undefined
        left.add(owner)
      }
      continue
    }
    const whose = ownerOf(line, erased)
    const isBad = !line.deleted && !isComplete(line)
    if (isBad && whose === undefined) return undefined
    if (whose !== undefined) {
      left.add(whose)
      // A bad line that names an erased person is left out: what is stored stays with its owner.
      if (!isBad) next.delete(key)
    } else if (line.deleted) {
      next.delete(key)
      if (line.type === 'user') gone.add(line.id)
    } else {
      next.set(key, line)
      if (line.type === 'assessment') named.push(line)
    }
  }
  for (const { proctor_id } of named.flatMap(partsOf))
    if (proctor_id && erased.has(proctor_id) && !world.has(`user ${proctor_id}`) && !gone.has(proctor_id))
      next.set(`user ${proctor_id}`, nobody(proctor_id))
  return { next, left }
}

/** Without null, undefined and false, which stand for the same as no value. */
const given = (line: Line) => Object.fromEntries(Object.entries(line).filter(([, value]) => value))

const nobody = (id: number): Line => ({ type: 'user', id, name: 'Erased person' })

/** The erased person who owns the assessment of a line; undefined if the line has no such owner. */
const ownerOf = ({ type, deleted, user_id }: Line, erased: Erased): number | undefined =>
  type === 'assessment' && !deleted && user_id !== undefined && erased.has(user_id) ? user_id : undefined

/** The world after a person has been erased. */
function without(world: World, user: number, erased: Erased): World {
  const next = new Map(world)
  const theirs = [...world.values()].filter(({ user_id }) => user_id === user)
  for (const line of theirs) next.delete(keyOf(line))
  erased.add(user)
  const key = `user ${user}`
  if (isNeeded(next, user)) next.set(key, nobody(user))
  // Also a row without a name, which an earlier erasure has left for an assessment that is gone.
  else next.delete(key)
  return next
}

/** Whether the person has proctored an assessment. */
const isNeeded = (world: World, user: number) =>
  [...world.values()].some(
    line => line.type === 'assessment' && partsOf(line).some(({ proctor_id }) => proctor_id === user),
  )

const NEEDED = ['user_id', 'organization_id', 'product_id', 'certified_at'] as const

const isComplete = (line: Line) =>
  line.type === 'assessment'
    ? NEEDED.every(field => line[field]) && (line.proctor_id || line.parts)
    : line.name

const partsOf = ({ id, proctor_id, parts }: Line) => parts ?? [{ id, proctor_id }]

function fits(world: World): boolean {
  const owners = new Map<number, number>()
  for (const line of world.values()) {
    if (line.type !== 'assessment') continue
    const { user_id, organization_id, product_id } = line
    const needed = [`user ${user_id}`, `organization ${organization_id}`, `product ${product_id}`]
    for (const part of partsOf(line)) {
      needed.push(`user ${part.proctor_id}`)
      if (owners.has(part.id) || (part.id !== line.id && world.has(`assessment ${part.id}`))) return false
      owners.set(part.id, line.id)
    }
    if (!needed.every(key => world.has(key))) return false
  }
  return true
}

/** The world as text, in the same form as `stored`. */
const shown = (world: World) =>
  [...world.values()]
    .map(line =>
      line.type === 'assessment'
        ? `assessment ${line.id} ${line.legacy_record ?? false} of ${line.user_id} ${line.organization_id} ${line.product_id}: ${partsOf(
            line,
          )
            .map(({ id, proctor_id }) => `${id} by ${proctor_id}`)
            .join(', ')}`
        : `${line.type} ${line.id} ${line.name} ${line.email || ''} ${line.seid || null}`,
    )
    .sort()

async function stored(sql: Sql): Promise<string[]> {
  const rows = await sql<{ line: string }[]>`
    select format('organization %s %s  null', id, name) as line from organizations
    union all select format('product %s %s  null', id, name) from products
    union all select format('user %s %s %s %s', id, name, email, coalesce(seid, 'null')) from users
    union all
    select format('assessment %s %s of %s %s %s: %s', a.id, legacy_record::text, user_id, organization_id, product_id,
      string_agg(format('%s by %s', p.id, proctor_id), ', ' order by position))
    from assessments a left join assessment_parts p on p.assessment_id = a.id group by a.id`
  return rows.map(row => row.line).sort()
}

/** Few ids, so that lines often collide. */
const upTo = (most: number) => fc.integer({ min: 1, max: most })
const type = fc.constantFrom('organization', 'product', 'user', 'assessment')
const named = fc.record(
  { type: fc.constantFrom('organization', 'product'), id: upTo(2), name: fc.constantFrom('a', 'b') },
  { requiredKeys: ['type', 'id', 'name'] },
)
const user = fc.record(
  {
    type: fc.constant('user'),
    id: upTo(3),
    name: fc.constantFrom('a', 'b'),
    email: fc.constantFrom('e', null),
    seid: fc.constantFrom('s', null),
  },
  { requiredKeys: ['type', 'id', 'name'] },
)
const references = {
  type: fc.constant('assessment'),
  id: upTo(4),
  user_id: upTo(2),
  organization_id: upTo(2),
  product_id: upTo(2),
  certified_at: fc.constant('2026-03-01'),
}
const short = fc.oneof(
  fc.record({ type: fc.constantFrom('organization', 'user'), id: upTo(2) }),
  fc.record({ ...references, proctor_id: upTo(2) }, { requiredKeys: ['type', 'id'] }),
)
const legacy_record = fc.constantFrom(true, null, undefined)
const single = fc.record({ ...references, legacy_record, proctor_id: upTo(2) })
const part = fc.record({
  id: upTo(7),
  name: fc.constant('n'),
  certified_at: fc.constant('2026-03-01'),
  proctor_id: upTo(2),
})
const parted = fc
  .record({
    ...references,
    legacy_record,
    parts: fc.uniqueArray(part, { minLength: 1, maxLength: 3, selector: part => part.id }),
  })
  .filter(({ id, parts }) => !parts.some(part => part.id === id))
const removal = fc.record({ type, id: upTo(4), deleted: fc.constant(true) })
const line = fc.oneof(
  { arbitrary: named, weight: 1 },
  { arbitrary: user, weight: 1 },
  { arbitrary: short, weight: 1 },
  { arbitrary: single, weight: 2 },
  { arbitrary: parted, weight: 4 },
  { arbitrary: removal, weight: 2 },
) as fc.Arbitrary<Line>
/** Most files have one line for each id; some repeat a line; some are random. */
const file = fc.oneof(
  { arbitrary: fc.uniqueArray(line, { minLength: 1, maxLength: 5, selector: keyOf }), weight: 4 },
  { arbitrary: line.map(repeated => [repeated, repeated]), weight: 1 },
  { arbitrary: fc.array(line, { minLength: 1, maxLength: 5 }), weight: 1 },
)
const step = fc.oneof(
  { arbitrary: fc.record({ lines: file }), weight: 5 },
  { arbitrary: fc.record({ erase: upTo(3) }), weight: 2 },
  { arbitrary: fc.record({ undo: upTo(3) }), weight: 1 },
) as fc.Arbitrary<{ lines?: Line[]; erase?: number; undo?: number }>
const steps = fc.array(step, { minLength: 1, maxLength: 8 })

const FIRST = [1, 2].flatMap((id): Line[] =>
  (['organization', 'product', 'user'] as const).map(type => ({ type, id, name: 'a' })),
)

const onWait = () => {}

describe('an import', () => {
  const database = useDatabase()

  test('of any sequence of files follows the model, or is refused and changes nothing', async () => {
    const { sql } = database
    const floors = new Floors({ 'a loaded file': 0.4, 'a refused file': 0.25, 'an erased person': 0.04 })
    const property = fc.asyncProperty(steps, async steps => {
      await sql`truncate organizations, products, users, assessments, assessment_parts, erasures`
      await importLines(sql, ...FIRST)
      let world: World = new Map(FIRST.map(line => [keyOf(line), line]))
      const erased: Erased = new Set()
      const reached = new Set<Parameters<typeof floors.reached>[0]>()
      for (const { lines, erase, undo } of steps) {
        if (erase !== undefined) {
          await erasePerson(sql, String(erase), { dryRun: false, onWait })
          world = without(world, erase, erased)
        }
        if (undo !== undefined)
          expect((await removeTombstone(sql, String(undo), onWait)) !== null).toBe(erased.delete(undo))
        if (lines !== undefined) {
          const model = after(world, lines, erased)
          const before = await everything(sql)
          const result = await importLines(sql, ...lines)
          expect(result.loaded).toBe(model !== undefined && fits(model.next))
          if (result.loaded && model) {
            expect(result.erased.people).toBe(model.left.size)
            world = model.next
            reached.add('a loaded file')
            if (model.left.size > 0) reached.add('an erased person')
          } else if (!result.loaded) {
            expect(await everything(sql)).toEqual(before)
            for (const { line } of result.problems) expect(line).toBeWithin(1, lines.length + 1)
            reached.add('a refused file')
          }
        }
        expect(await stored(sql)).toEqual(shown(world))
        expect(await staleRecords(sql)).toBeEmpty()
      }
      for (const point of reached) floors.reached(point)
    })
    await holds(property, { runs: 24, floors })
  })
})
