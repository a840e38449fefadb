import { below, DAY, DAY_ONLY, draws, item, mix, momentAt, stampOf, ZONES } from './chance.ts'
import { organizationName, PRODUCTS, person } from './names.ts'

/** Keeps the products behind the SEIDs below 2^53, and so exact. */
const MOST_ASSESSMENTS = 100_000_000

/**
 * Yields sample data as import NDJSON, in chunks of whole lines of about 64 KB. The same number gives the same bytes
 * everywhere. Every person is derived from a number, so memory stays flat. @throws RangeError
 */
export function* sampleNdjson({ assessments }: { assessments: number }): Generator<string> {
  let chunk = ''
  let lines = 0
  for (const record of records(createWorld(assessments))) {
    chunk += `${JSON.stringify(record)}\n`
    lines += 1
    if (chunk.length < 64 * 1024) continue
    yield chunk
    chunk = ''
  }
  yield `${chunk}${JSON.stringify({ type: 'end', lines })}\n`
}

type World = ReturnType<typeof createWorld>

function createWorld(assessments: number) {
  if (!Number.isInteger(assessments) || assessments < 0 || assessments > MOST_ASSESSMENTS)
    throw new RangeError(`assessments must be a whole number from 0 to ${MOST_ASSESSMENTS}`)
  const onePer = (assessmentsEach: number) => Math.max(3, Math.ceil(assessments / assessmentsEach))
  return {
    assessments,
    educators: Math.ceil(assessments / 3),
    proctors: onePer(200),
    organizations: Math.min(500, onePer(2000)),
    products: Math.min(40, onePer(5)),
  }
}

function* records(world: World): Generator<object> {
  for (let index = 0; index < world.organizations; index++)
    yield { type: 'organization', id: spacedId(index), name: organizationName(index) }
  for (let index = 0; index < world.products; index++)
    yield { type: 'product', id: spacedId(index), name: item(PRODUCTS, index).name }
  // Proctors are known by name only.
  for (let index = 0; index < world.proctors; index++)
    yield { type: 'user', id: proctorId(index), name: person(draws('proctor', index)).name }
  for (let index = 0; index < world.educators; index++) yield educatorOf(index)
  for (let index = 0; index < world.assessments; index++) yield assessmentOf(world, index)
}

// Ids do not depend on how many there are: a larger sample has what a smaller one refers to, and more.
const spacedId = (index: number) => 1 + 4 * index + ((mix(index) >>> 0) % 3)
const educatorId = (index: number) => 100 + spacedId(index)
const proctorId = (index: number) => 104 + 4 * index

function educatorOf(index: number): object {
  const draw = draws('educator', index)
  const roll = draw()
  // The factor shares no divisor with 10^10, so no two educators share a number; one in ten begins with a zero.
  const number = (index * 236_067_977 + 4_815_162_342) % 10_000_000_000
  const seid = roll < 0.05 ? `TX${number.toString(36).toUpperCase()}` : String(number).padStart(10, '0')
  const record_status = draw() < 0.06 ? 'archived' : 'active'
  const id = educatorId(index)
  const email = `user${id}@example.org`
  return { type: 'user', id, ...person(draw), email, seid: roll < 0.9 ? seid : null, record_status }
}

function assessmentOf(world: World, index: number): object {
  const { proctors, organizations, products } = world
  /** The time of the assessment within the years: 0 the first day, 1 the last. */
  const age = (index + 0.5) / world.assessments
  // Educators join over the years: the early ones have completed several, some of the last ones none yet.
  const educator = Math.floor(draws('taker', index)() * (0.4 + 0.6 * age) * world.educators)
  // The educator's place from 0 to 1 decides the organization and the proctors. One educator in twelve moves once.
  const drawHome = draws('home', educator)
  const firstHome = drawHome()
  const home = age < drawHome() * 12 ? firstHome : drawHome()
  // The cube makes a few organizations large and many small; the stride keeps that out of the id order.
  const organization = Math.floor(home * home * home * organizations) * 1009
  const draw = draws('assessment', index)
  // The first product is three times as popular as the last.
  const spread = draw()
  const product = Math.floor(((spread * spread + spread) / 2) * products)
  const legacy_record = age < 0.24 && draw() < 0.85
  const moment = momentAt(age, draw)
  const offset = item(ZONES, draw() < 0.12 ? below(ZONES.length, draw) : 0)
  // The prior system knew days only for half of its records.
  const zone = legacy_record && draw() < 0.5 ? DAY_ONLY : offset
  // One of the five proctors nearest to the educator.
  const nearest = Math.floor(home * proctors) + below(5, draw)
  const proctorAt = (step: number) => proctorId((nearest + step) % proctors)
  // Room for the most parts of an assessment: in samples of every size, no part has the id of an assessment.
  const id = 9001 + 6 * index + (mix(index) & 1)
  const { parts } = item(PRODUCTS, product)
  // In one case of seven a single proctor supervises all parts. The last part completes the assessment.
  const step = draw() < 0.15 ? 0 : 1
  const pause = 3600 + below(15, draw) * DAY
  const partAt = (name: string, at: number) => ({
    id: id + 1 + at,
    name,
    certified_at: stampOf(moment - (parts.length - 1 - at) * pause, zone),
    proctor_id: proctorAt(at * step),
  })
  return {
    type: 'assessment',
    id,
    user_id: educatorId(educator),
    organization_id: spacedId(organization % organizations),
    product_id: spacedId(product),
    certified_at: stampOf(moment, zone),
    legacy_record,
    ...(parts.length > 0 ? { parts: parts.map(partAt) } : { proctor_id: proctorAt(0) }),
  }
}
