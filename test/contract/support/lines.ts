/** One line of the import format. */
export type Line = { type: string; id: number } & Record<string, unknown>

/** A separately proctored part, as an assessment's line holds it. */
interface PartLine {
  id: number
  name: string
  certified_at: string
  proctor_id: number
}

/** An organization. */
export function organization(id: number, name = `Organization ${id}`): Line {
  return { type: 'organization', id, name }
}

/** A product: an assessment that can be taken. */
export function product(id: number, name = `Product ${id}`): Line {
  return { type: 'product', id, name }
}

/** An educator, with a seid of their own unless `fields` say otherwise. */
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

/** A proctor, who needs no more than a name. */
export function proctor(id: number, name = `Proctor ${id}`): Line {
  return { type: 'user', id, name }
}

/** What `world()` holds: the smallest data an assessment can refer to. */
export const ORGANIZATION = 10
export const PRODUCT = 1
export const EDUCATOR = 501
export const PROCTOR = 77

/** One organization, product, educator and proctor, which `assessment()` refers to unless told otherwise. */
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

/** An assessment without separate parts. */
export function assessment(id: number, fields: Record<string, unknown> = {}): Line {
  return { ...overall(id), proctor_id: PROCTOR, ...fields }
}

/** An assessment of separately proctored parts. */
export function multiPart(id: number, parts: PartLine[], fields: Record<string, unknown> = {}): Line {
  return { ...overall(id), ...fields, parts }
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
