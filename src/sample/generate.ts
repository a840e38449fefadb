import { Chance, DAY, DAY_ONLY, item, mix, momentsUntil, stampOf, UTC } from './chance.ts'
import { organizationName, PRODUCTS, person } from './names.ts'

/** The options of `sampleNdjson`. */
export interface SampleOptions {
  assessments: number
  /** Another seed, another data set; 1 by default. */
  seed?: number
  /** The latest completion instant; fixed by default, so that the output is the same forever. */
  until?: Date
}

/** Keeps the products behind the SEIDs below 2^53, and so exact. */
const MOST_ASSESSMENTS = 100_000_000

/**
 * Yields sample data as import NDJSON, in chunks of whole lines of about 64 KB: organizations, products, users, exactly
 * `assessments` assessments, and the end line. The same options give the same bytes everywhere. Every person is derived
 * from a number, so memory stays flat.
 * @throws RangeError
 */
export function* sampleNdjson(options: SampleOptions): Generator<string> {
  let chunk = ''
  let lines = 0
  for (const record of records(createWorld(options))) {
    chunk += `${JSON.stringify(record)}\n`
    lines += 1
    if (chunk.length < 64 * 1024) continue
    yield chunk
    chunk = ''
  }
  yield `${chunk}${JSON.stringify({ type: 'end', lines })}\n`
}

type World = ReturnType<typeof createWorld>

function createWorld({ assessments, seed = 1, until = new Date('2026-06-30T23:59:59Z') }: SampleOptions) {
  if (!Number.isInteger(assessments) || assessments < 0 || assessments > MOST_ASSESSMENTS)
    throw new RangeError(`assessments must be a whole number from 0 to ${MOST_ASSESSMENTS}`)
  if (seed >>> 0 !== seed) throw new RangeError('seed must be a whole number from 0 to 4294967295')
  const chance = new Chance(seed)
  const onePer = (assessmentsEach: number) => Math.max(3, Math.ceil(assessments / assessmentsEach))
  return {
    assessments,
    educators: Math.ceil(assessments / 3),
    proctors: onePer(200),
    organizationIds: spacedIds(Math.min(500, onePer(2000)), chance.seek('organization', 0)),
    productIds: spacedIds(Math.min(40, onePer(5)), chance.seek('product', 0)),
    chance,
    momentAt: momentsUntil(until),
  }
}

/** Small ids with gaps. */
function spacedIds(count: number, chance: Chance): number[] {
  let id = 0
  return Array.from({ length: count }, () => {
    id += 1 + (chance.draw() < 0.3 ? chance.below(4) : 0)
    return id
  })
}

function* records(world: World): Generator<object> {
  for (const [index, id] of world.organizationIds.entries())
    yield { type: 'organization', id, name: organizationName(index) }
  for (const [index, id] of world.productIds.entries())
    yield { type: 'product', id, name: item(PRODUCTS, index).name }
  // Most proctors are known by name only; the others are full users.
  for (let index = 0; index < world.proctors; index++) {
    const { chance } = world
    chance.seek('proctor', index)
    yield userOf(proctorId(index), chance, chance.draw() < 0.3, null, 'active')
  }
  for (let index = 0; index < world.educators; index++) yield educatorOf(world, index)
  for (let index = 0; index < world.assessments; index++) yield assessmentOf(world, index)
}

// Ids do not depend on how many there are: a larger sample has the users of a smaller one, and more.
const educatorId = (index: number) => 101 + 4 * index + ((mix(index) >>> 0) % 3)
const proctorId = (index: number) => 104 + 4 * index

function educatorOf({ chance }: World, index: number): object {
  chance.seek('educator', index)
  const roll = chance.draw()
  // The factor shares no divisor with 10^10, so no two educators share a number; one in ten begins with a zero.
  const number = (index * 236_067_977 + 4_815_162_342) % 10_000_000_000
  const seid = roll < 0.05 ? `TX${number.toString(36).toUpperCase()}` : String(number).padStart(10, '0')
  const status = chance.draw() < 0.06 ? 'archived' : 'active'
  return userOf(educatorId(index), chance, true, roll < 0.9 ? seid : null, status)
}

function userOf(id: number, chance: Chance, isFull: boolean, seid: string | null, record_status: string) {
  const { name, first: first_name, last: last_name, login } = person(chance.draw)
  if (!isFull) return { type: 'user', id, name }
  // Logins hold no digits, so the id behind one makes the address unique.
  const email = `${login}${id}@example.${item(['org', 'com', 'net'], chance.below(3))}`
  return { type: 'user', id, name, first_name, last_name, email, seid, record_status }
}

function assessmentOf(world: World, index: number): object {
  const { chance, momentAt, proctors, organizationIds, productIds } = world
  /** The time of the assessment within the years: 0 the first day, 1 the last. */
  const age = (index + 0.5) / world.assessments
  chance.seek('taker', index)
  // Educators join over the years: the early ones have completed several, some of the last ones none yet.
  const educator = Math.floor(chance.draw() * (0.4 + 0.6 * age) * world.educators)
  // The educator's place from 0 to 1 decides the organization and the proctors. One educator in twelve moves once.
  chance.seek('home', educator)
  const firstHome = chance.draw()
  const home = age < chance.draw() * 12 ? firstHome : chance.draw()
  // The cube makes a few organizations large and many small; the stride keeps that out of the id order.
  const organization = Math.floor(home * home * home * organizationIds.length) * 1009
  chance.seek('assessment', index)
  // The first product is three times as popular as the last.
  const spread = chance.draw()
  const product = Math.floor(((spread * spread + spread) / 2) * productIds.length)
  const legacy_record = age < 0.24 && chance.draw() < 0.85
  const moment = momentAt(age, chance)
  // The prior system knew days only for half of its records.
  const zone =
    legacy_record && chance.draw() < 0.5 ? DAY_ONLY : chance.draw() < 0.12 ? 1 + chance.below(7) : UTC
  // One of the five proctors nearest to the educator.
  const proctor = Math.floor(home * proctors) + chance.below(5)
  // Room for the most parts of an assessment: in samples of every size, no part has the id of an assessment.
  const id = 9001 + 6 * index + (mix(index) & 1)
  const { parts } = item(PRODUCTS, product)
  return {
    type: 'assessment',
    id,
    user_id: educatorId(educator),
    organization_id: item(organizationIds, organization % organizationIds.length),
    product_id: item(productIds, product),
    certified_at: stampOf(moment, zone),
    legacy_record,
    ...(parts.length > 0
      ? { parts: partsOf(world, parts, { id, moment, zone, proctor }) }
      : { proctor_id: proctorId(proctor % proctors) }),
  }
}

/** The last part completes the assessment, unless another one was retaken after it. */
function partsOf(
  { chance, proctors }: World,
  names: string[],
  completion: Record<'id' | 'moment' | 'zone' | 'proctor', number>,
): object[] {
  const { id, zone, proctor } = completion
  const final = chance.draw() < 0.12 ? chance.below(names.length) : names.length - 1
  // In one case of seven a single proctor supervises all parts.
  const step = chance.draw() < 0.15 ? 0 : 1 + chance.below(2)
  let moment = completion.moment
  const parts: object[] = []
  for (let at = names.length - 1; at >= 0; at--) {
    let certified_at = stampOf(completion.moment, zone)
    if (at !== final) {
      const sameDay = chance.draw() < 0.3
      const pause = 1800 + 60 * chance.below(180)
      moment -= sameDay ? pause : pause + DAY * (1 + chance.below(20))
      // A bare date begins at another instant in every zone; two days before, it is earlier in all of them.
      const dayOnly = completion.moment - moment > 2 * DAY && chance.draw() < 0.2
      certified_at = stampOf(moment, dayOnly ? DAY_ONLY : zone)
    }
    const proctor_id = proctorId((proctor + at * step) % proctors)
    parts.unshift({ id: id + 1 + at, name: names[at], certified_at, proctor_id })
  }
  return parts
}
