import { organizationName, person, productWords } from './words.ts'

/** What `sampleNdjson` makes. */
export interface SampleOptions {
  assessments: number
  /** Another seed, another data set; 1 by default. */
  seed?: number
  /** The latest completion instant; fixed by default, so that the output is the same forever. */
  until?: Date
}

/** One completed assessment, as far as its parts need to know. */
interface Completion {
  id: number
  moment: number
  zone: number
  proctor: number
}

type World = ReturnType<typeof createWorld>
type Chance = ReturnType<typeof createChance>

const CHUNK = 64 * 1024
/** Keeps the products behind the SEIDs below 2^53, and so exact. */
const MOST_ASSESSMENTS = 100_000_000

/**
 * Yields sample data as import NDJSON, in chunks of whole lines of about 64 KB: organizations, products and
 * users first, then exactly `assessments` assessments, then the end line, by which import sees that nothing was cut
 * off. The same options give the same bytes everywhere.
 * Every person is derived from a number and none is remembered, so memory stays flat.
 */
export function* sampleNdjson(options: SampleOptions): Generator<string> {
  let chunk = ''
  let count = 0
  for (const line of lines(createWorld(options))) {
    chunk += line
    count += 1
    if (chunk.length < CHUNK) continue
    yield chunk
    chunk = ''
  }
  yield `${chunk}{"type":"end","lines":${count}}\n`
}

function createWorld({ assessments, seed = 1, until = new Date('2026-06-30T23:59:59Z') }: SampleOptions) {
  if (!Number.isInteger(assessments) || assessments < 0 || assessments > MOST_ASSESSMENTS)
    throw new RangeError(`assessments must be a whole number from 0 to ${MOST_ASSESSMENTS}`)
  if (seed >>> 0 !== seed) throw new RangeError('seed must be a whole number from 0 to 4294967295')
  const chance = createChance(seed)
  return {
    assessments,
    educators: Math.ceil(assessments / 3),
    proctors: Math.max(3, Math.ceil(assessments / 200)),
    organizationIds: spacedIds(
      Math.min(500, Math.max(3, Math.ceil(assessments / 2000))),
      ORGANIZATION,
      chance,
    ),
    productIds: spacedIds(Math.min(40, Math.max(3, Math.ceil(assessments / 5))), PRODUCT, chance),
    products: productWords().map(({ name, parts }) => ({
      name,
      parts: parts.map(part => JSON.stringify(part)),
    })),
    chance,
    calendar: createCalendar(until),
  }
}

function* lines(world: World): Generator<string> {
  for (const [index, id] of world.organizationIds.entries())
    yield `{"type":"organization","id":${id},"name":${JSON.stringify(organizationName(index))}}\n`
  for (const [index, id] of world.productIds.entries())
    yield `{"type":"product","id":${id},"name":${JSON.stringify(item(world.products, index).name)}}\n`
  for (let index = 0; index < world.proctors; index++) yield proctorLine(world, index)
  for (let index = 0; index < world.educators; index++) yield educatorLine(world, index)
  for (let index = 0; index < world.assessments; index++) yield assessmentLine(world, index)
}

// --- Users ---

const DOMAINS = ['org', 'com', 'net']

// Ids do not depend on how many there are: a larger sample has the users of a smaller one, and more.
const educatorId = (index: number) => 101 + 4 * index + ((mix(index) >>> 0) % 3)
const proctorId = (index: number) => 104 + 4 * index

/** Most proctors are known by name only; the others are full users. */
function proctorLine({ chance }: World, index: number): string {
  chance.turnTo(PROCTOR, index)
  return userLine(proctorId(index), chance, chance.draw() < 0.3, null, 'active')
}

function educatorLine(world: World, index: number): string {
  const { chance } = world
  chance.turnTo(EDUCATOR, index)
  const roll = chance.draw()
  // The factor shares no divisor with 10^10, so no two educators share a number; one in ten begins with a zero.
  const number = (index * 236_067_977 + 4_815_162_342) % 10_000_000_000
  const seid = roll < 0.05 ? `TX${number.toString(36).toUpperCase()}` : String(number).padStart(10, '0')
  const status = chance.draw() < 0.06 ? 'archived' : 'active'
  return userLine(educatorId(index), chance, true, roll < 0.9 ? seid : null, status)
}

function userLine(id: number, chance: Chance, full: boolean, seid: string | null, status: string): string {
  const { name, first, last, login } = person(chance.draw)
  const known = `{"type":"user","id":${id},"name":${JSON.stringify(name)}`
  if (!full) return `${known}}\n`
  const names = `"first_name":${JSON.stringify(first)},"last_name":${JSON.stringify(last)}`
  // Logins hold no digits, so the id behind one makes the address unique.
  const email = `${login}${id}@example.${item(DOMAINS, chance.below(DOMAINS.length))}`
  return `${known},${names},"email":"${email}","seid":${seid && `"${seid}"`},"record_status":"${status}"}\n`
}

// --- Assessments ---

/** Room for the most parts an assessment has, so that an id is one's or the other's in samples of every size. */
const assessmentId = (index: number) => 9001 + 6 * index + (mix(index) & 1)

function assessmentLine(world: World, index: number): string {
  const { chance, calendar, proctors } = world
  /** Where in the years the assessment was entered: 0 the first day, 1 the last. */
  const age = (index + 0.5) / world.assessments
  chance.turnTo(TAKER, index)
  // Educators join over the years: the early ones have completed several, some of the last ones none yet.
  const educator = Math.floor(chance.draw() * (0.4 + 0.6 * age) * world.educators)
  const home = homeOf(world, educator, age)
  chance.turnTo(ASSESSMENT, index)
  const organizationId = organizationAt(world, home)
  // The first product is three times as popular as the last.
  const spread = chance.draw()
  const product = Math.floor(((spread * spread + spread) / 2) * world.productIds.length)
  const legacy = age < 0.24 && chance.draw() < 0.85
  const moment = calendar.momentAt(age, chance)
  // The prior system knew days only for half of its records.
  const zone = legacy && chance.draw() < 0.5 ? DAY_ONLY : chance.draw() < 0.12 ? 1 + chance.below(7) : UTC
  // One of the five proctors nearest to the educator.
  const proctor = Math.floor(home * proctors) + chance.below(5)
  const id = assessmentId(index)
  const { parts } = item(world.products, product)
  const ending = parts.length
    ? `"parts":[${partList(world, parts, { id, moment, zone, proctor })}]`
    : `"proctor_id":${proctorId(proctor % proctors)}`
  return (
    `{"type":"assessment","id":${id},"user_id":${educatorId(educator)},` +
    `"organization_id":${organizationId},"product_id":${item(world.productIds, product)},` +
    `"certified_at":"${stampOf(moment, zone)}","legacy_record":${legacy},${ending}}\n`
  )
}

/** An educator's place from 0 to 1; it decides the organization and who is near to supervise. */
function homeOf({ chance }: World, educator: number, age: number): number {
  chance.turnTo(HOME, educator)
  const first = chance.draw()
  // One educator in twelve moves once.
  return age < chance.draw() * 12 ? first : chance.draw()
}

/** The cube makes a few organizations large and many small; the stride keeps that out of the id order. */
function organizationAt({ organizationIds }: World, home: number): number {
  const rank = Math.floor(home * home * home * organizationIds.length)
  return item(organizationIds, (rank * 1009) % organizationIds.length)
}

/** The last part completes the assessment, unless another one was retaken after it. */
function partList({ chance, proctors }: World, parts: string[], completion: Completion): string {
  const { id, zone, proctor } = completion
  const final = chance.draw() < 0.12 ? chance.below(parts.length) : parts.length - 1
  // In one case of seven a single proctor supervises all parts.
  const step = chance.draw() < 0.15 ? 0 : 1 + chance.below(2)
  let moment = completion.moment
  let list = ''
  for (let at = parts.length - 1; at >= 0; at--) {
    let certified = stampOf(completion.moment, zone)
    if (at !== final) {
      const sameDay = chance.draw() < 0.3
      const pause = 1800 + 60 * chance.below(180)
      moment -= sameDay ? pause : pause + DAY * (1 + chance.below(20))
      // A bare date begins at another instant in every zone; two days before, it is earlier in all of them.
      const dayOnly = completion.moment - moment > 2 * DAY && chance.draw() < 0.2
      certified = stampOf(moment, dayOnly ? DAY_ONLY : zone)
    }
    const supervisor = proctorId((proctor + at * step) % proctors)
    const part = `"id":${id + 1 + at},"name":${item(parts, at)},"certified_at":"${certified}"`
    list = `{${part},"proctor_id":${supervisor}}${list && ','}${list}`
  }
  return list
}

// --- Time, in seconds since 1970 ---

const DAY = 86_400
const YEARS = 6
const MONTHLY_LOAD = [2, 2, 3, 4, 6, 3, 1, 1, 2, 3, 3, 2]

/** How an instant is written: an index into the zones, or only its day. */
const DAY_ONLY = -1
const UTC = 0
const ZONES = ['Z', '-05:00', '-06:00', '-07:00', '-08:00', '-04:00', '+01:00', '+05:30']
const ZONE_SECONDS = [0, -5, -6, -7, -8, -4, 1, 5.5].map(hours => hours * 3600)

function stampOf(moment: number, zone: number): string {
  if (zone === DAY_ONLY) return isoTime(moment).slice(0, 10)
  return isoTime(moment + item(ZONE_SECONDS, zone)) + item(ZONES, zone)
}

const isoTime = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 19)

function createCalendar(until: Date) {
  const end = Math.floor(until.getTime() / 1000)
  if (!(end > 10 * 365 * DAY && end < 250_000_000_000))
    throw new RangeError('until must lie in the years 1980 to 9800')
  const { busyDays, clockChanges } = schoolYears(Math.floor(end / DAY))
  const someMoment = (age: number, { draw, below }: Chance) => {
    const shift = draw() < 0.05 ? -0.06 * draw() : 0.004 * (draw() - 0.5)
    const at = Math.min(Math.max(age + shift, 0), 0.999_999)
    const day = item(busyDays, Math.floor(at * busyDays.length)) * DAY
    const second = draw() < 0.5 ? 0 : below(60)
    const kind = draw()
    if (kind < 0.01) return item(clockChanges, Math.floor(at * clockChanges.length)) + 60 * (below(180) - 90)
    // Half an hour on both sides of midnight: where the day depends on the time zone.
    if (kind < 0.08) return day + 60 * (below(60) - 30) + second
    return day + 13 * 3600 + 300 * below(132) + second
  }
  return {
    /** An instant about `age` of the way through the years; one in twenty was entered weeks too late. */
    momentAt: (age: number, chance: Chance) => Math.min(end, someMoment(age, chance)),
  }
}

/** Days as often as they are busy, and the instants at which clocks change in the US east and in Europe. */
function schoolYears(lastDay: number) {
  const busyDays: number[] = []
  const clockChanges: number[] = []
  for (let day = lastDay - YEARS * 365; day <= lastDay; day++) {
    const date = new Date(day * DAY * 1000)
    const [month, dayOfMonth, sunday] = [date.getUTCMonth(), date.getUTCDate(), date.getUTCDay() === 0]
    const weekend = sunday || date.getUTCDay() === 6
    // On a few testing days many complete at once.
    const load = item(MONTHLY_LOAD, month) * (weekend ? 1 : 6) * ((mix(day) & 15) === 0 ? 8 : 1)
    for (let times = 0; times < load; times++) busyDays.push(day)
    if (sunday && month === 2 && dayOfMonth > 7 && dayOfMonth < 15) clockChanges.push(day * DAY + 7 * 3600)
    if (sunday && month === 10 && dayOfMonth < 8) clockChanges.push(day * DAY + 6 * 3600)
    if (sunday && (month === 2 || month === 9) && dayOfMonth > 24) clockChanges.push(day * DAY + 3600)
  }
  return { busyDays, clockChanges }
}

// --- Chance ---

/** Streams of draws that know nothing of each other. */
const [ORGANIZATION, PRODUCT, PROCTOR, EDUCATOR, HOME, TAKER, ASSESSMENT] = [1, 2, 3, 4, 5, 6, 7] as const

/** Random numbers by 32-bit integer arithmetic alone, and so the same on every machine. */
function createChance(seed: number) {
  let state = 0
  const draw = () => {
    state = (state + 0x9e3779b9) | 0
    return (mix(state) >>> 0) / 0x1_0000_0000
  }
  return {
    /** From here on come the draws of that number in that stream, the same whenever they are asked for. */
    turnTo(stream: number, index: number): void {
      state = mix(mix(seed ^ Math.imul(stream, 0x9e3779b9)) ^ index)
    },
    /** At least 0 and less than 1. */
    draw,
    /** A whole number of at least 0 and less than `limit`. */
    below: (limit: number) => Math.floor(draw() * limit),
  }
}

/** Spreads a number over all 32 bits, one to one (the finalizer of MurmurHash3). */
function mix(value: number): number {
  let bits = value
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}

/** Small ids with gaps. */
function spacedIds(count: number, stream: number, chance: Chance): number[] {
  chance.turnTo(stream, 0)
  let id = 0
  return Array.from({ length: count }, () => {
    id += 1 + (chance.draw() < 0.3 ? chance.below(4) : 0)
    return id
  })
}

function item<T>(list: readonly T[], index: number): T {
  const found = list[index]
  if (found === undefined) throw new RangeError(`no item ${index} in a list of ${list.length}`)
  return found
}
