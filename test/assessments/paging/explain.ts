import postgres, { type Sql } from 'postgres'
import { requireAccess } from '../../../src/assessments/access.ts'
import { readPage } from '../../../src/assessments/page.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import type { ListQuery, Sort } from '../../../src/contract.ts'
import { SERVING } from '../../../src/database/database.ts'
import { DIGEST_TYPE } from '../../../src/database/value-types.ts'
import type { Scope } from '../../support/oracle.ts'
import { issueTokens, tokenOf } from './questions.ts'
import { runnerOn } from './runners.ts'

/** A node of a plan, with the fields that tests read. */
export interface Plan {
  'Node Type': string
  'Subplan Name'?: string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Scan Direction'?: string
  'Heap Fetches'?: number
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Temp Written Blocks'?: number
  Plans?: Plan[]
}

/** The plan of a statement: its text, and all nodes from the root down. */
export interface Explained {
  text: string
  whole: Plan[]
}

/** The plan of the statement of a page. */
export interface ExplainedPage {
  /** All nodes. */
  whole: Plan[]
  /** Those that find the records of the page. */
  near: Plan[]
}

/** The number of scans of a table. */
export interface Scans {
  table: string
  all: number
  byIndex: number
}

export const PAGE = 100

const RECORDS = 'export_records'

/** The index with all records in the order of each sort. */
export const INDEX: Record<Sort, string> = {
  certified_on: 'export_records_certified_on',
  user_name: 'export_records_user_name',
  proctor_name: 'export_records_proctor_name',
  product_name: 'export_records_product_name',
}

/** Explains the statements that the service really sends, with their values. */
export class Explainer {
  private sent: { text: string; parameters: unknown[] }[] = []
  private readonly pool: Sql

  private constructor(url: string, settings: Record<string, string>) {
    this.pool = postgres(url, {
      max: 1,
      onnotice: () => {},
      connection: settings,
      types: DIGEST_TYPE,
      debug: (_connection, text, parameters) => this.sent.push({ text, parameters: [...parameters] }),
    })
  }

  /** Connects with the settings of the service's connections, and with `further` settings. */
  static create(url: string, further: Record<string, string> = {}): Explainer {
    return new Explainer(url, { ...SERVING, TimeZone: 'UTC', ...further })
  }

  async end(): Promise<void> {
    await this.pool.end()
  }

  /** The plan of a page, on a service that has read the pages at `visited` before. */
  async explain(scope: Scope, query: Partial<ListQuery>, visited: number[] = []): Promise<ExplainedPage> {
    const memory = new PageMemory()
    await issueTokens(this.pool, scope)
    const token = tokenOf(scope)
    const { access, sets } = await requireAccess(this.pool, token)
    memory.noteAccess(token, access)
    memory.noteSets(access.scopeDigest, sets)
    for (const offset of visited) await read(this.pool, memory, scope, { ...query, offset })
    const sent = await this.explainSent(sql => read(sql, memory, scope, query))
    if (sent.length !== 1) throw new Error(`${sent.length} statements for one page`)
    const { whole = [] } = sent[0] ?? {}
    const near = whole.find(node => node['Subplan Name'] === 'CTE near')
    return { whole, near: near ? nodes(near) : [] }
  }

  /** The plans of all statements that `work` sends, with their values. */
  async explainSent(work: (sql: Sql) => Promise<unknown>): Promise<Explained[]> {
    const plans: Explained[] = []
    for (const { text, parameters } of await this.sentBy(work))
      plans.push({ text, whole: await this.explained(text, parameters as string[]) })
    return plans
  }

  /** The generic plans of all statements that `work` sends: those that a connection keeps for prepared statements. */
  async explainGeneric(work: (sql: Sql) => Promise<unknown>): Promise<Explained[]> {
    const plans: Explained[] = []
    for (const { text, parameters } of await this.sentBy(work)) {
      const literals = parameters.map(value => (value === null ? 'null' : `'${value}'`))
      await this.pool.unsafe(`set plan_cache_mode = force_generic_plan; prepare explained as ${text}`)
      const execute = `execute explained${literals.length > 0 ? `(${literals})` : ''}`
      plans.push({ text, whole: await this.explained(execute) })
      await this.pool.unsafe('deallocate explained; reset plan_cache_mode')
    }
    return plans
  }

  private async sentBy(work: (sql: Sql) => Promise<unknown>) {
    await this.pool`select 1`
    this.sent = []
    await work(this.pool)
    return this.sent.filter(({ text }) => text.trim().includes('select'))
  }

  private async explained(statement: string, parameters: string[] = []): Promise<Plan[]> {
    const rows = await this.pool.unsafe<{ 'QUERY PLAN': { Plan: Plan }[] }[]>(
      `explain (analyze, timing off, buffers, format json) ${statement}`,
      parameters,
    )
    return rows.flatMap(row => row['QUERY PLAN']).flatMap(({ Plan }) => nodes(Plan))
  }

  /** The numbers of sequential scans and of index scans that `work` caused, by table. */
  async scansOf(work: (sql: Sql) => Promise<unknown>): Promise<Scans[]> {
    const scans = await this.pool.begin(async sql => {
      // The view also counts what this backend has not yet reported from earlier transactions.
      const soFar = () => sql<Scans[]>`
        select relname as table, seq_scan::integer as "all", idx_scan::integer as "byIndex"
        from pg_stat_xact_user_tables order by relname`
      const before = new Map((await soFar()).map(scan => [scan.table, scan]))
      await work(sql as unknown as Sql)
      return (await soFar()).map(({ table, all, byIndex }) => ({
        table,
        all: all - (before.get(table)?.all ?? 0),
        byIndex: byIndex - (before.get(table)?.byIndex ?? 0),
      }))
    })
    return scans.filter(({ all, byIndex }) => all + byIndex > 0)
  }
}

/** Reads a page. Parameters that `query` lacks have their defaults. */
export async function read(
  sql: Sql,
  memory: PageMemory,
  scope: Scope,
  query: Partial<ListQuery>,
  tokenDigest = tokenOf(scope),
): Promise<void> {
  const rest = { page: PAGE, offset: 0, sort: 'certified_on', order: 'ASC', filter: {} } as const
  const request = { db: runnerOn(sql), memory, tokenDigest, bounds: {} }
  await readPage(request, { ...rest, ...query })
}

export function nodes(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)]
}

export const types = (plans: Plan[]): string[] => plans.map(node => node['Node Type'])
export const indexes = (plans: Plan[]): string[] => plans.flatMap(node => node['Index Name'] ?? [])

/** The indexes through which records are read, without those of tokens and scopes. */
export const indexesOfRecords = (plans: Plan[]): string[] =>
  indexes(plans).filter(name => name.startsWith('export_records_'))

/** Whether a sequential scan read all records. A plan may contain a scan that never ran. */
export const readsAll = (plans: Plan[]): boolean =>
  plans.some(
    node =>
      node['Node Type'] === 'Seq Scan' &&
      node['Relation Name'] === 'export_records' &&
      node['Actual Loops'] > 0,
  )

/** The number of rows that index-only scans had to fetch from the table. */
export const heapFetches = (plans: Plan[]): number =>
  plans.reduce((sum, node) => sum + (node['Heap Fetches'] ?? 0), 0)

/** The number of records that the scans of a plan read, including those that they filtered out. */
export const recordsRead = (plans: Plan[]): number => rowsRead(plans, RECORDS)

/** The same for another table. */
export function rowsRead(plans: Plan[], table: string): number {
  const scans = plans.filter(node => node['Relation Name'] === table)
  const looked = scans.map(
    node =>
      node['Actual Loops'] *
      (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Index Recheck'] ?? 0)),
  )
  return looked.reduce((sum, rows) => sum + rows, 0)
}
