/** Builders for import lines. A test passes only the values that matter to it; all others have defaults. */

/** One line of the import format: an organization, a product, a user or an assessment. */
export type Line = { type: string; id: number } & Record<string, unknown>

/** A separately proctored part, as it stands in the line of its assessment. */
export interface PartLine {
  id: number
  name: string
  certified_at: string
  proctor_id: number
}

/** The ids in `world()`, which has one row of everything that an assessment refers to. */
export const ORGANIZATION = 10
export const PRODUCT = 1
export const EDUCATOR = 501
export const PROCTOR = 77

/** One organization, product, educator and proctor. `assessment()` refers to them by default. */
export function world(): Line[] {
  return [
    organization(ORGANIZATION, 'Lakeside District'),
    product(PRODUCT, 'Reading Observation'),
    educator(EDUCATOR, {
      name: 'Ana M. Ruiz',
      first_name: 'Ana',
      last_name: 'Ruiz',
      email: 'ana@example.org',
      seid: '1234567890',
    }),
    proctor(PROCTOR, 'Paul Proctor'),
  ]
}

/** The same four ids with the default values of their builders, for tests that import one of them again. */
export const REFERENCED = [organization(ORGANIZATION), product(PRODUCT), educator(EDUCATOR), proctor(PROCTOR)]

/** An organization. */
export function organization(id: number, name = `Organization ${id}`): Line {
  return { type: 'organization', id, name }
}

/** A product: an assessment that can be taken. */
export function product(id: number, name = `Product ${id}`): Line {
  return { type: 'product', id, name }
}

/** A user with names, email and seid that contain the id; `fields` replaces single values. */
export function educator(id: number, fields: Record<string, unknown> = {}): Line {
  return {
    type: 'user',
    id,
    name: `Given${id} Family${id}`,
    first_name: `Given${id}`,
    last_name: `Family${id}`,
    email: `educator${id}@example.org`,
    seid: `S-${id}`,
    ...fields,
  }
}

/** A user with a name only: a proctor needs no other field. */
export function proctor(id: number, name = `Proctor ${id}`): Line {
  return { type: 'user', id, name }
}

/** An assessment without separate parts. */
export function assessment(id: number, fields: Record<string, unknown> = {}): Line {
  return { ...overall(id), proctor_id: PROCTOR, ...fields }
}

/** An assessment with separately proctored parts. A number in `parts` stands for a default part with that id. */
export function multiPart(
  id: number,
  parts: readonly (PartLine | number)[],
  fields: Record<string, unknown> = {},
): Line {
  const lines = parts.map(of => (typeof of === 'number' ? part(of) : of))
  return { ...overall(id), ...fields, parts: lines }
}

/** A part. Its default day is before the default day of assessments. */
export function part(id: number, fields: Partial<PartLine> = {}): PartLine {
  return { id, name: `Part ${id}`, certified_at: '2026-02-01T12:00:00Z', proctor_id: PROCTOR, ...fields }
}

/** The line that removes the row of this type and id. */
export function removal(type: string, id: number): Line {
  return { type, id, deleted: true }
}

/** `count` lines, which `line` makes from 0, 1, 2 and so on. */
export function range(count: number, line: (index: number) => Line): Line[] {
  return Array.from({ length: count }, (_, index) => line(index))
}

/** The lines as the text of an NDJSON file. A string becomes a line unchanged. */
export function ndjsonOf(lines: readonly (object | string)[]): string {
  return lines.map(line => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')
}

function overall(id: number): Line {
  return {
    type: 'assessment',
    id,
    user_id: EDUCATOR,
    organization_id: ORGANIZATION,
    product_id: PRODUCT,
    certified_at: '2026-03-01T12:00:00Z',
  }
}
