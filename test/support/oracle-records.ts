/** A platform's data, and its records by the contract. This file shares no code with the service. */

interface Named {
  id: number
  name: string
}

export interface User extends Named {
  first_name: string
  last_name: string
  email: string
  seid: string | null
  record_status: 'active' | 'archived'
}

/**
 * A part. An assessment without separate parts has one part, with the assessment's id and without name and time.
 * `micros` is in microseconds since 1970.
 */
export interface Part {
  id: number
  name: string | null
  micros: number | null
  proctor_id: number
}

/** An assessment. It has no record while it has no part (contract R6). */
export interface Assessment {
  id: number
  user_id: number
  organization_id: number
  product_id: number
  micros: number
  legacy_record: boolean
  parts: Part[]
}

/** A platform's data, and its time zone. */
export interface Platform {
  zone: string
  organizations: Named[]
  products: Named[]
  users: User[]
  assessments: Assessment[]
}

/**
 * A record of contract R2 and R7 and its JSON, with the source rows for rules about fields that the record does not show.
 */
export interface View {
  assessment: Assessment
  user: User
  record: ReturnType<typeof recordOf>
  text: string
}

/** The records of a platform, in the order of its assessments. */
export function viewsOf(platform: Platform): View[] {
  const users = byId(platform.users)
  const products = byId(platform.products)
  const organizations = byId(platform.organizations)
  return platform.assessments
    .filter(({ parts }) => parts.length > 0)
    .map(assessment => {
      const user = users(assessment.user_id)
      const product = products(assessment.product_id)
      const organization = organizations(assessment.organization_id)
      const record = recordOf(platform.zone, assessment, user, organization, product, users)
      return { assessment, user, record, text: JSON.stringify(record) }
    })
}

function recordOf(
  zone: string,
  { id, micros, parts }: Assessment,
  { seid, name, first_name, last_name, email }: User,
  organization: Named,
  product: Named,
  users: (id: number) => User,
) {
  return {
    id,
    seid,
    name,
    first_name,
    last_name,
    email,
    organization_id: organization.id,
    organization_name: organization.name,
    assessment_name: product.name,
    certified_on: dayOf(micros, zone),
    results: parts.map(part => ({
      assessment_id: part.id,
      assessment_name: part.name ?? product.name,
      certified_on: dayOf(part.micros ?? micros, zone),
      proctor_id: part.proctor_id,
      proctor_name: users(part.proctor_id).name,
    })),
  }
}

const formats = new Map<string, Intl.DateTimeFormat>()
const days = new Map<string, string>()

/** The calendar day, YYYY-MM-DD, on which an instant (microseconds since 1970) falls in a time zone. */
export function dayOf(micros: number, timeZone: string): string {
  const key = `${micros} ${timeZone}`
  const day = days.get(key) ?? computeDay(micros, timeZone)
  days.set(key, day)
  return day
}

function computeDay(micros: number, timeZone: string): string {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
    formats.set(timeZone, format)
  }
  const parts = format.formatToParts(new Date(Math.floor(micros / 1000)))
  const value = (type: string) => parts.find(part => part.type === type)?.value
  return `${value('year')}-${value('month')}-${value('day')}`
}

function byId<T extends Named>(rows: T[]): (id: number) => T {
  const found = new Map(rows.map(row => [row.id, row]))
  return id => {
    const row = found.get(id)
    if (!row) throw new Error(`a reference to the id ${id}, which no row has`)
    return row
  }
}
