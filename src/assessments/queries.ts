import { sql } from 'drizzle-orm'
import { exportRecords as r, disclosureState as state } from '../../db/schema.ts'
import type { Shown } from '../answers.ts'
import { text } from '../postgres/raw-rows.ts'
import { type Runner, rawStatement } from '../postgres/statement.ts'
import { ACCESS, type Access, accessOf } from './access.ts'
import type { Values } from './conditions.ts'
import { pageStatement, type Shape } from './page-statement.ts'

/** A position in the log of changes, and the random tag of the row there. */
export interface Moment {
  position: number
  tag: string
}

/** The row of a page statement: one snapshot. */
export interface PageRow {
  access: Access
  /** Whether the hints were valid; if not, the rest means nothing. */
  isValid: boolean
  count: number
  /** The newest change of that snapshot, to which hints from this row belong. */
  moment: Moment
  /** With a count: an estimate of all records by Postgres; -1 if it has none. */
  total: number | undefined
  /** The documents of the page, joined by commas: UTF-8, as it is sent. */
  documents: Uint8Array
  /** How many documents. */
  size: number
  /** The sort key and the id of the last of them; undefined on an empty page. */
  last: { key: string; id: string } | undefined
  /** The records and educators to be recorded, while disclosures are recorded. */
  shown: Pick<Shown, 'assessments' | 'people'> | undefined
}

/**
 * Runs the page statement of a shape.
 * @throws HttpError 401 or 400
 */
export async function selectPage(db: Runner, shape: Shape, values: Values): Promise<PageRow> {
  const [row] = await pageStatement(shape)(db, values)
  if (!row) throw new Error('the page statement returned no row')
  // The documents stay bytes: decoding them would take a tenth of the time of a page.
  const [isValid, count, position, tag, total, documents, ...rest] = row.slice(4)
  const [size, key, id, assessments, people] = rest.map(text)
  return {
    access: accessOf(row),
    isValid: text(isValid) === 't',
    count: Number(text(count)),
    moment: { position: Number(text(position)), tag: text(tag) ?? '' },
    total: total == null ? undefined : Number(text(total)),
    documents: documents ?? new Uint8Array(),
    size: Number(size),
    last: key == null || id == null ? undefined : { key, id },
    shown: shownOf(assessments, people),
  }
}

function shownOf(assessments?: string | null, people?: string | null): PageRow['shown'] {
  return assessments == null || people == null ? undefined : { assessments, people }
}

/**
 * The document of the assessment with this id, as UTF-8, if it is in the scope of a live token. `id` must be within
 * bigint.
 * @throws HttpError 401 or 400
 */
export async function readRecord(db: Runner, tokenDigest: Uint8Array, id: string) {
  const [row] = await retrieve(db, { id, token: tokenDigest })
  const [document, assessments, people] = row?.slice(4) ?? []
  return {
    access: accessOf(row),
    document: document ?? undefined,
    shown: shownOf(text(assessments), text(people)),
  }
}

const retrieve = rawStatement(sql`
  select ${ACCESS}, ${r.document} as document, shown.*
  from live_tokens as token
  left join ${r} on ${r.id} = ${sql.placeholder('id')}::bigint
    and ${r.organizationId} = any (token.organization_ids)
    and ${r.productId} = any (token.product_ids)
  left join lateral (
    select array[${r.id}]::text, array[${r.userId}]::text from ${state} where ${state.isOn} and ${r.id} is not null
  ) as shown on true
  where token.digest = ${sql.placeholder('token')}::bytea`)
