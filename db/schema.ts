import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  customType,
  date,
  inet,
  integer,
  interval,
  jsonb,
  pgTable,
  pgView,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core'

/**
 * The tables and views that statements of drizzle name; a test compares them with the migrated database. postgres.js reads
 * bigint as a decimal string, because a JavaScript number is exact only up to 2^53. Timestamps stay text, because a
 * JavaScript date has no microseconds.
 */

const id = customType<{ data: string; driverData: string }>({ dataType: () => 'bigint' })
/** drizzle makes identities of its own type alone. */
const identity = (name: string) => bigint(name, { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity()
const timestamptz = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' })
const digest = customType<{ data: string; driverData: string }>({ dataType: () => 'bytea' })

export const organizations = pgTable('organizations', {
  id: id('id').primaryKey(),
  name: text('name').notNull(),
})

export const products = pgTable('products', {
  id: id('id').primaryKey(),
  name: text('name').notNull(),
})

export const exportRecords = pgTable('export_records', {
  id: id('id').primaryKey(),
  organizationId: id('organization_id').notNull(),
  productId: id('product_id').notNull(),
  userId: id('user_id').notNull(),
  seid: text('seid'),
  isArchived: boolean('is_archived').notNull(),
  legacyRecord: boolean('legacy_record').notNull(),
  proctorIds: id('proctor_ids').array().notNull(),
  certifiedOn: date('certified_on').notNull(),
  userNameKey: text('user_name_key').notNull(),
  proctorNameKey: text('proctor_name_key').notNull(),
  productNameKey: text('product_name_key').notNull(),
  document: text('document').notNull(),
})

export const exportVersion = pgTable('export_version', {
  singleton: boolean('singleton').primaryKey().default(true),
  version: uuid('version').notNull().defaultRandom(),
  madeAt: timestamptz('made_at').notNull().default(sql`clock_timestamp()`),
})

export const exportPeople = pgTable('export_people', {
  userId: id('user_id').primaryKey(),
  namesKey: text('names_key').notNull(),
})

export const exportProducts = pgTable('export_products', {
  productId: id('product_id').primaryKey(),
  nameKey: text('name_key').notNull(),
})

export const exportState = pgTable('export_state', {
  singleton: boolean('singleton').primaryKey().default(true),
  timeZone: text('time_zone').notNull().default('UTC'),
  lastImportAt: timestamptz('last_import_at'),
})

export const erasures = pgTable('erasures', {
  userId: id('user_id').primaryKey(),
  erasedAt: timestamptz('erased_at').notNull().default(sql`clock_timestamp()`),
  role: text('role').notNull().default(sql`session_user`),
})

export const disclosures = pgTable('disclosures', {
  key: uuid('key').primaryKey(),
  at: timestamptz('at').notNull().default(sql`clock_timestamp()`),
  clientId: text('client_id').notNull(),
  requestId: text('request_id').notNull(),
  address: inet('address'),
  filters: text('filters').array(),
  assessmentIds: integer('assessment_ids').array().notNull(),
  userIds: integer('user_ids').array().notNull(),
  largeAssessmentIds: id('large_assessment_ids').array(),
  largeUserIds: id('large_user_ids').array(),
})

export const disclosureState = pgTable('disclosure_state', {
  singleton: boolean('singleton').primaryKey().default(true),
  isOn: boolean('is_on').notNull().default(false),
  kept: interval('kept').default('400 days'),
})

export const integrations = pgTable('integrations', {
  id: identity('id'),
  clientId: text('client_id').notNull().unique(),
  name: text('name').notNull(),
  organizationIds: id('organization_ids').array().notNull().default(sql`'{}'`),
  productIds: id('product_ids').array().notNull().default(sql`'{}'`),
  allOrganizations: boolean('all_organizations').notNull().default(false),
  allProducts: boolean('all_products').notNull().default(false),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  disabledAt: timestamptz('disabled_at'),
  scopeDigest: text('scope_digest')
    .notNull()
    .generatedAlwaysAs(sql`scope_digest(organization_ids, product_ids)`),
  purpose: text('purpose'),
  contact: text('contact'),
})

export const integrationHistory = pgTable('integration_history', {
  id: identity('id'),
  at: timestamptz('at').notNull().default(sql`clock_timestamp()`),
  clientId: text('client_id').notNull(),
  name: text('name').notNull(),
  purpose: text('purpose'),
  event: text('event').notNull(),
  changes: jsonb('changes').notNull(),
  by: text('by'),
  role: text('role').notNull().default(sql`session_user`),
  host: text('host').notNull(),
})

export const integrationSecrets = pgTable('integration_secrets', {
  id: identity('id'),
  integrationId: bigint('integration_id', { mode: 'bigint' }).notNull(),
  digest: digest('digest').notNull(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at'),
  lastUsedAt: timestamptz('last_used_at'),
})

export const accessTokens = pgTable('access_tokens', {
  digest: digest('digest').primaryKey(),
  secretId: bigint('secret_id', { mode: 'bigint' }).notNull(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at').notNull(),
})

export const liveSecrets = pgView('live_secrets', {
  id: id('id'),
  digest: digest('digest'),
  createdAt: timestamptz('created_at'),
  clientId: text('client_id'),
  organizationIds: id('organization_ids').array(),
  productIds: id('product_ids').array(),
  scopeDigest: text('scope_digest'),
}).existing()

/** The tables that imports write. */
export const SOURCE_TABLES = ['organizations', 'products', 'users', 'assessments', 'assessment_parts']

/** A table of the read model. The view that renders it has its name with `_rendered`. */
export interface ReadModelTable {
  table: string
  /** The column that has the id of the row in the source table. */
  id: string
  source: string
  /** Its name in JSON. */
  key: 'records' | 'people' | 'products'
  /** What reports call its rows. */
  rows: string
}

/** The read model, records first. */
export const READ_MODEL: ReadModelTable[] = [
  { table: 'export_records', id: 'id', source: 'assessments', key: 'records', rows: 'records' },
  { table: 'export_people', id: 'user_id', source: 'users', key: 'people', rows: 'names of people' },
  {
    table: 'export_products',
    id: 'product_id',
    source: 'products',
    key: 'products',
    rows: 'names of products',
  },
]

/** The triggers by the migration that makes them: the name of each is that of its table, and a suffix. */
export const TRIGGERS: { migration: string; tables: string[]; suffixes: string[] }[] = [
  {
    migration: '0004_version',
    tables: READ_MODEL.map(({ table }) => table),
    suffixes: ['inserted', 'updated', 'deleted', 'truncated'],
  },
  {
    migration: '0005_counts',
    tables: ['export_records'],
    suffixes: ['inserted_counted', 'updated_counted', 'deleted_counted', 'truncated_counted'],
  },
  {
    migration: '0006_writers',
    tables: SOURCE_TABLES,
    suffixes: ['queue', 'inserted', 'updated', 'deleted', 'truncated'],
  },
  { migration: '0006_writers', tables: ['export_state'], suffixes: ['time_zone_changed'] },
  { migration: '0007_integrations', tables: ['integrations'], suffixes: ['order_scope'] },
  { migration: '0008_integration_history', tables: ['integration_history'], suffixes: ['append_only'] },
]
