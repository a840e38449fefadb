import { sql } from 'drizzle-orm'
import { exportRecords as r, disclosureState as state } from '../../db/schema.ts'
import type { Shown } from '../answers.ts'
import { type Runner, rawStatement, text } from '../postgres/statement.ts'
import { ACCESS, type Access, accessOf } from './access.ts'
import type { Values } from './conditions.ts'
import { pageStatement, type Shape } from './page-statement.ts'

/** A position in the log of changes, and what was there at that position. */
export interface Moment {
  position: number
  tag: string
}

/** What a page statement found, all of it in one snapshot. */
export interface PageRow {
  access: Access
  /** Whether the remembered facts could be used; if not, the rest means nothing. */
  isHeld: boolean
  count: number
  /** The newest change of that snapshot: what is remembered of the row is of this moment. */
  moment: Moment
  /** With a count: about how many records there are in all, as Postgres estimates; -1 when it has no idea. */
  total: number | undefined
  /** The documents of the page, joined by commas: UTF-8, as it is sent; and how many they are. */
  documents: Uint8Array
  size: number
  /** The sort key and the id of the last of them; undefined on an empty page. */
  last: { key: string; id: string } | undefined
  /** Whose records they are, where that is to be recorded. */
  shown: ShownRecords | undefined
}

/** Records that an answer shows, where that is to be recorded. */
export type ShownRecords = Pick<Shown, 'assessments' | 'people'>

/**
 * Runs the page statement of a shape.
 * @throws HttpError 401 or 400
 */
export async function selectPage(db: Runner, shape: Shape, values: Values): Promise<PageRow> {
  const [row] = await pageStatement(shape)(db, values)
  if (!row) throw new Error('the page statement returned no row')
  // The documents stay bytes: to decode them would take a tenth of a page's time.
  const [isHeld, count, position, tag, total, documents, ...rest] = row.slice(4)
  const [size, key, id, assessments, people] = rest.map(text)
  return {
    access: accessOf(row),
    isHeld: text(isHeld) === 't',
    count: Number(text(count)),
    moment: { position: Number(text(position)), tag: text(tag) ?? '' },
    total: total == null ? undefined : Number(text(total)),
    documents: documents ?? new Uint8Array(),
    size: Number(size),
    last: key == null || id == null ? undefined : { key, id },
    shown: shownOf(assessments, people),
  }
}

const shownOf = (
  assessments: string | null | undefined,
  people: string | null | undefined,
): ShownRecords | undefined => (assessments == null || people == null ? undefined : { assessments, people })

/**
 * The document of the assessment with this id, as UTF-8, if it is in the scope of a live token; and whose it is, where
 * that is to be recorded. `id` must be within bigint.
 * @throws HttpError 401 or 400
 */
export async function readRecord(db: Runner, tokenDigest: Uint8Array, id: string) {
  const [row] = await retrieve(db, { id, token: tokenDigest })
  const [document, assessments, people] = row?.slice(4) ?? []
  const shown = shownOf(text(assessments), text(people))
  return { access: accessOf(row), document: document ?? undefined, shown }
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
