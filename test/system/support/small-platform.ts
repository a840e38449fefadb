import {
  assessment,
  educator,
  type Line,
  multiPart,
  organization,
  product,
  range,
} from '../../support/fixtures.ts'
import type { Scope } from '../../support/oracle.ts'
import type { Assessment, Platform } from '../../support/oracle-records.ts'

/** Every organization and product of a small platform. */
export const SCOPE: Scope = { organizations: [1, 2, 3], products: [11, 12] }

/** A day in microseconds. */
const DAY = 86_400_000_000
const FIRST_DAY = Date.parse('2026-01-01T12:00:00Z') * 1000

/**
 * A platform with 240 assessments in SCOPE, some with two parts, many on the same day. With another `shift`, the same
 * ids have other organizations, products, people and days, so that no page of one platform is a page of another.
 */
export function smallPlatform(shift = 0): Platform {
  const named = (ids: number[], kind: string) => ids.map(id => ({ id, name: `${kind} ${id} of ${shift}` }))
  return {
    zone: 'UTC',
    organizations: named(SCOPE.organizations, 'Organization'),
    products: named(SCOPE.products, 'Product'),
    users: Array.from({ length: 12 }, (_, at) => user(101 + at, shift)),
    assessments: Array.from({ length: 240 }, (_, at) => row(1001 + at, at + 7 * shift)),
  }
}

function user(id: number, shift: number): Platform['users'][number] {
  const last_name = `Family${(id * (shift + 3)) % 13}`
  return {
    id,
    name: `Given${id} ${last_name}`,
    first_name: `Given${id}`,
    last_name,
    email: `educator${id}@example.org`,
    seid: `S-${id}`,
    record_status: 'active',
  }
}

function row(id: number, at: number): Assessment {
  const micros = FIRST_DAY + DAY * ((at * 5) % 31)
  const parts = [1, 2].map(number => ({
    id: id * 10 + number,
    name: `Part ${number}`,
    micros: micros - DAY,
    proctor_id: 101 + ((at + number) % 3),
  }))
  return {
    id,
    user_id: 101 + (at % 12),
    organization_id: 1 + (at % 3),
    product_id: 11 + ((at >> 1) % 2),
    micros,
    legacy_record: at % 4 === 0,
    parts: at % 6 === 0 ? parts : [{ id, name: null, micros: null, proctor_id: 101 + (at % 5) }],
  }
}

/** The import lines of a platform's data. */
export function linesOf({ organizations, products, users, assessments }: Platform): Line[] {
  return [
    ...organizations.map(({ id, name }) => organization(id, name)),
    ...products.map(({ id, name }) => product(id, name)),
    ...users.map(({ id, record_status: _, ...fields }) => educator(id, fields)),
    ...assessments.map(lineOf),
  ]
}

/** The import line of an assessment. */
export function lineOf({ id, micros, parts, ...fields }: Assessment): Line {
  const line = { ...fields, certified_at: instant(micros) }
  const [first, ...others] = parts
  if (first && others.length === 0) return assessment(id, { ...line, proctor_id: first.proctor_id })
  return multiPart(
    id,
    parts.map(({ id, name, micros, proctor_id }) => ({
      id,
      name: name ?? '',
      certified_at: instant(micros ?? 0),
      proctor_id,
    })),
    line,
  )
}

const instant = (micros: number) => new Date(micros / 1000).toISOString()

/** `count` further assessments in SCOPE, after those of the platform. Each line has about 170 bytes. */
export function manyLines(count: number): Line[] {
  return range(count, at => lineOf(row(100_000 + at, 6 * at + 1)))
}
