import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  customType,
  date,
  integer,
  pgTable,
  pgView,
  smallint,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core'

/**
 * The tables as TypeScript sees them: columns, types and keys. What they are for, their checks, indexes
 * and triggers stand in `db/migrations`, which is what makes them; a test holds the two together.
 *
 * The statements are written with drizzle's `sql` and run on postgres.js, which hands bigint over as a
 * decimal string: a JavaScript number is exact only up to 2^53. Timestamps stay text: a JavaScript date
 * would cut their microseconds.
 */

const id = (name: string) => bigint(name, { mode: 'bigint' })
const timestamptz = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' })
const digest = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' })

export const organizations = pgTable('organizations', {
  id: id('id').primaryKey(),
  name: text('name').notNull(),
})

export const products = pgTable('products', {
  id: id('id').primaryKey(),
  name: text('name').notNull(),
})

export const users = pgTable('users', {
  id: id('id').primaryKey(),
  name: text('name').notNull(),
  firstName: text('first_name').notNull().default(''),
  lastName: text('last_name').notNull().default(''),
  email: text('email').notNull().default(''),
  seid: text('seid'),
  recordStatus: text('record_status').notNull().default('active'),
})

export const assessments = pgTable('assessments', {
  id: id('id').primaryKey(),
  userId: id('user_id').notNull(),
  organizationId: id('organization_id').notNull(),
  productId: id('product_id').notNull(),
  certifiedAt: timestamptz('certified_at').notNull(),
  legacyRecord: boolean('legacy_record').notNull().default(false),
})

export const assessmentParts = pgTable('assessment_parts', {
  id: id('id').primaryKey(),
  assessmentId: id('assessment_id').notNull(),
  position: integer('position').notNull(),
  name: text('name'),
  certifiedAt: timestamptz('certified_at'),
  proctorId: id('proctor_id').notNull(),
})

export const exportState = pgTable('export_state', {
  singleton: boolean('singleton').primaryKey().default(true),
  version: id('version').notNull().default(sql`1`),
  timeZone: text('time_zone').notNull().default('UTC'),
})

export const exportChanges = pgTable('export_changes', {
  position: id('position').primaryKey().generatedAlwaysAsIdentity(),
  tag: uuid('tag').notNull().default(sql`gen_random_uuid()`),
  delta: smallint('delta'),
  id: id('id'),
  organizationId: id('organization_id'),
  productId: id('product_id'),
  userId: id('user_id'),
  seid: text('seid'),
  isArchived: boolean('is_archived'),
  legacyRecord: boolean('legacy_record'),
  proctorIds: id('proctor_ids').array(),
  certifiedOn: date('certified_on'),
  userNameKey: text('user_name_key'),
  proctorNameKey: text('proctor_name_key'),
  productNameKey: text('product_name_key'),
  searchText: text('search_text'),
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

export const exportPeople = pgTable('export_people', {
  userId: id('user_id').primaryKey(),
  namesKey: text('names_key').notNull(),
})

export const exportProducts = pgTable('export_products', {
  productId: id('product_id').primaryKey(),
  nameKey: text('name_key').notNull(),
})

export const integrations = pgTable('integrations', {
  id: id('id').primaryKey().generatedAlwaysAsIdentity(),
  clientId: text('client_id').notNull().unique(),
  name: text('name').notNull(),
  organizationIds: id('organization_ids').array().notNull().default(sql`'{}'`),
  productIds: id('product_ids').array().notNull().default(sql`'{}'`),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  disabledAt: timestamptz('disabled_at'),
  scopeDigest: text('scope_digest')
    .notNull()
    .generatedAlwaysAs(sql`scope_digest(organization_ids, product_ids)`),
})

export const integrationSecrets = pgTable('integration_secrets', {
  id: id('id').primaryKey().generatedAlwaysAsIdentity(),
  integrationId: id('integration_id').notNull(),
  digest: digest('digest').notNull(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at'),
  lastUsedAt: timestamptz('last_used_at'),
})

export const accessTokens = pgTable('access_tokens', {
  digest: digest('digest').primaryKey(),
  secretId: id('secret_id').notNull(),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  expiresAt: timestamptz('expires_at').notNull(),
})

export const liveSecrets = pgView('live_secrets', {
  id: id('id'),
  digest: digest('digest'),
  clientId: text('client_id'),
  organizationIds: id('organization_ids').array(),
  productIds: id('product_ids').array(),
  scopeDigest: text('scope_digest'),
}).existing()

export const liveTokens = pgView('live_tokens', {
  digest: digest('digest'),
  secretId: id('secret_id'),
  clientId: text('client_id'),
  organizationIds: id('organization_ids').array(),
  productIds: id('product_ids').array(),
  scopeDigest: text('scope_digest'),
}).existing()
