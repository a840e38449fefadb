/** A table of the read model; the view that renders it is called after it. */
export interface ReadModelTable {
  table: string
  /** The column by which a row belongs to one of the source table. */
  id: string
  source: string
  /** The rows as a report calls them, and one row of the source. */
  rows: string
  one: string
}

/** The read model, records first. */
export const READ_MODEL: ReadModelTable[] = [
  { table: 'export_records', id: 'id', source: 'assessments', rows: 'records', one: 'assessment' },
  { table: 'export_people', id: 'user_id', source: 'users', rows: 'names of people', one: 'user' },
  {
    table: 'export_products',
    id: 'product_id',
    source: 'products',
    rows: 'names of products',
    one: 'product',
  },
]
