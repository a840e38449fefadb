import { csv } from '../../src/import/csv.ts'
import { ndjson } from '../../src/import/ndjson.ts'
import type { ImportOptions } from '../../src/import/result.ts'
import { requiredColumns } from '../../src/import/rows.ts'
import { type ImportSource, TABLE_OF, TYPES, type Type } from '../../src/import/source-rows.ts'
import {
  assessment,
  educator,
  type Line,
  multiPart,
  ndjsonOf,
  ORGANIZATION,
  organization,
  type PartLine,
  PRODUCT,
  part,
  proctor,
  product,
  range,
  removal,
} from '../support/fixtures.ts'

/** Large loads of every kind, on top of a database that may hold some of the same. */

export type Format = 'ndjson' | 'csv'

const PROCTORS = 10
const ERASED = 101

/** Every second assessment has two parts, and each has an educator of its own. */
const lineOf = (index: number): Line => {
  const [id, proctor_id] = [1_000_000 + 10 * index, 1 + (index % PROCTORS)]
  const fields = { user_id: 101 + index }
  if (index % 2 === 0) return assessment(id, { ...fields, proctor_id })
  return multiPart(id, [part(id + 1, { proctor_id }), part(id + 2, { proctor_id })], fields)
}

const referenced = (people: number) => [
  organization(ORGANIZATION),
  product(PRODUCT),
  ...range(PROCTORS, index => proctor(1 + index)),
  ...range(people, index => educator(101 + index)),
]

/** The lines of a database of so many assessments. */
export const storedLines = (count: number): Line[] => [...referenced(count), ...range(count, lineOf)]

export interface Load {
  options?: ImportOptions
  /** People whom an erasure names before the load. */
  erased?: number[]
  lines: Line[]
}

const newOf = (stored: number, count: number) => range(count, index => lineOf(stored + index))
const half = (lines: Line[], change: (line: Line) => Line) =>
  lines.map((line, index) => (index % 2 === 0 ? change(line) : line))
const movedTo = (certified_at: string) => (line: Line) => ({ ...line, certified_at })
const LATER = '2026-04-01T12:00:00Z'
const rejecting = { onReject: () => {}, maxRejected: { percent: 100 } } satisfies ImportOptions
const allowed = { sync: { percent: 100 } } satisfies ImportOptions

/** Loads of `count` assessments that are new, beside `stored` ones that are not or that the load changes. */
export const LOADS: Record<string, (stored: number, count: number) => Load> = {
  'new ones': (stored, count) => ({ lines: [...referenced(stored + count), ...newOf(stored, count)] }),
  'the stored ones and new ones': (stored, count) => ({ lines: storedLines(stored + count) }),
  'all of them changed': (stored, count) => ({
    lines: storedLines(stored + count).map(line =>
      line.type === 'assessment' ? movedTo(LATER)(line) : { ...line, name: `${line.name} again` },
    ),
  }),
  'all of them changed, with their parts': (stored, count) => ({
    lines: storedLines(stored + count).map(line => {
      if (line.type !== 'assessment') return line
      const parts = line.parts as PartLine[] | undefined
      const proctored = parts
        ? { parts: parts.map(each => ({ ...each, proctor_id: PROCTORS })) }
        : { proctor_id: PROCTORS }
      return { ...movedTo(LATER)(line), ...proctored }
    }),
  }),
  'every line twice': (stored, count) => {
    const lines = storedLines(stored + count)
    return { lines: [...lines, ...lines] }
  },
  'ids that fall': (stored, count) => ({ lines: storedLines(stored + count).reverse() }),
  'every line twice, and half of the assessments differ': (stored, count) => {
    const lines = storedLines(stored + count)
    return {
      lines: [...lines, ...half(lines, line => (line.type === 'assessment' ? movedTo(LATER)(line) : line))],
      options: rejecting,
    }
  },
  'assessments without a date, for stored and new ones': (stored, count) => ({
    lines: half(storedLines(stored + count), ({ certified_at: _, ...line }) => line as Line),
    options: rejecting,
  }),
  'half of them with people whom nobody knows': (stored, count) => ({
    lines: half([...referenced(stored + count), ...newOf(0, stored + count)], line =>
      line.type === 'assessment' ? { ...line, user_id: 5_000_000 + line.id } : line,
    ),
    options: rejecting,
  }),
  'half of the people missing, and the others rejected': (stored, count) => ({
    lines: storedLines(stored + count).map((line, index) =>
      line.type === 'user' && line.id > 100 && index % 2 === 0 ? { ...line, email: 5 as never } : line,
    ),
    options: rejecting,
  }),
  'new ones instead of the stored ones, with --sync': (stored, count) => ({
    lines: [
      ...referenced(0),
      ...range(count, index => educator(101 + stored + index)),
      ...newOf(stored, count),
    ],
    options: allowed,
  }),
  'new ones and the deletion of all stored ones with their people': (stored, count) => ({
    lines: [
      ...range(stored, index => removal('user', 101 + index)),
      ...range(stored, index => removal('assessment', 1_000_000 + 10 * index)),
      ...range(count, index => educator(101 + stored + index)),
      ...newOf(stored, count),
      ...referenced(0),
    ],
  }),
  'people deleted whom stored ones need': (stored, count) => ({
    lines: [
      ...range(stored, index => removal('user', 101 + index)),
      ...referenced(0),
      ...range(count, index => educator(101 + stored + index)),
      ...newOf(stored, count),
    ],
    options: rejecting,
  }),
  'all of them, a third of whose people were erased': (stored, count) => ({
    lines: storedLines(stored + count),
    erased: Array.from({ length: Math.ceil((stored + count) / 3) }, (_, index) => ERASED + 3 * index),
  }),
}

/** The lines as a source of NDJSON, or of CSV files, in which parts arrive apart. */
export function sourceOf(lines: Line[], format: Format): ImportSource {
  if (format === 'ndjson') {
    const text = ndjsonOf([...lines, { type: 'end', lines: lines.length }])
    return ndjson({ chunks: chunksOf(text), size: Buffer.byteLength(text) })
  }
  const files = {
    organization: 'organizations',
    product: 'products',
    user: 'users',
    assessment: 'assessments',
  }
  const rows: Record<string, object[]> = Object.fromEntries(
    Object.entries(files).map(([type, name]) => [name, lines.filter(line => line.type === type)]),
  )
  rows.assessment_parts = lines.flatMap(({ id, parts = [] }) =>
    (parts as PartLine[]).map((one, index) => ({ assessment_id: id, position: index + 1, ...one })),
  )
  const stored = Object.entries(rows).filter(([, of]) => of.length > 0)
  return csv(
    stored.map(([name, of]) => ({ name: `${name}.csv`, chunks: chunksOf(csvOf(name, of)) })),
    [],
    'the folder',
  )
}

function csvOf(table: string, rows: object[]): string {
  const type = TYPES.find(name => TABLE_OF[name] === table) as Type
  const given = rows.flatMap(row => Object.keys(row)).filter(name => name !== 'type' && name !== 'parts')
  const columns = [...new Set([...requiredColumns(type), ...given])]
  const lines = rows.map(row => columns.map(name => (row as Line)[name] ?? '').join(','))
  return [columns.join(','), ...lines, ''].join('\n')
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
