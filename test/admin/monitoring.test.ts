import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { selfSigned } from '../support/certificate.ts'
import { emptyFolder, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { alertQueries, dashboard, dashboardQueries, namedIn, selectorsOf } from '../support/monitoring.ts'
import { useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const OPERATE = join(import.meta.dir, '..', '..', 'docs', 'operate')
const world = useServedWorld({ ADMIN_PORT: '0' })

/** The labels of each metric of a service with HTTPS, a standby and a feed, which has answered a page. */
const labels = new Map<string, Set<string>>()

/** The metrics of Prometheus itself, of node_exporter, and what a rule records. */
const OF_OTHERS = [
  ['up', 'job', 'instance'],
  ['node_filesystem_avail_bytes', 'job', 'instance', 'mountpoint'],
  ['axport:integration_nightly', 'job', 'client_id'],
] as const

beforeAll(async () => {
  const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(emptyFolder(), 'cert.pem'), join(emptyFolder(), 'key.pem')]
  const { cert, key } = selfSigned('axport')
  writeFileSync(TLS_CERT_FILE, cert)
  writeFileSync(TLS_KEY_FILE, key)
  await world.sql`
    insert into feeds (name, platform, snapshot_at, queries, succeeded_at, compared_at)
    values ('platform', 'p', now(), '{}', now(), now())`
  await world.sql`call note_backup()`
  // The tests' server is no standby, and so is passed over.
  const DATABASE_READ_URL = world.env.DATABASE_URL ?? 'unknown'
  const running = await world.serve([], { TLS_CERT_FILE, TLS_KEY_FILE, DATABASE_READ_URL })
  await fetch(`${running.url}/api/v1/ax/assessments`, { tls: { ca: cert } })
  const text = await until('the metrics have the data', async () => {
    const scrape = await (await fetch(`${running.admin}/metrics`)).text()
    return scrape.includes('\naxport_schema_info{') && scrape
  })
  for (const [, name = '', given = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = labels.get(name) ?? new Set(['job', 'instance'])
    for (const [, label = ''] of given.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label)
    labels.set(name, known)
  }
  for (const [name, ...own] of OF_OTHERS) labels.set(name, new Set(own))
  await running.end()
})

/** The metrics of a query that the service does not have, and labels that they do not have. */
function unknownIn(query: string): string[] {
  const selectors = selectorsOf(query)
  expect([query, selectors.length > 0]).toEqual([query, true])
  return selectors.flatMap(({ metric, wanted }) => {
    const known = labels.get(metric)
    if (!known) return [metric]
    return wanted.filter(label => !known.has(label)).map(label => `${metric}{${label}}`)
  })
}

describe('a running service has', () => {
  test('every metric and label that the dashboard asks for', () => {
    const queries = dashboardQueries()
    expect(queries.length).toBeGreaterThan(25)
    for (const query of queries) expect([query, unknownIn(query)]).toEqual([query, []])
  })

  test('every metric and label that an alert asks for', () => {
    const queries = alertQueries()
    expect(queries.length).toBeGreaterThan(10)
    for (const query of queries) expect([query, unknownIn(query)]).toEqual([query, []])
  })

  test('every metric that the page about metrics names, and none that the page leaves out', () => {
    const page = readFileSync(join(OPERATE, 'monitor.md'), 'utf8')
    const families = new Set([...labels.keys()].map(name => name.replace(/_(bucket|sum|count)$/, '')))
    for (const [name] of OF_OTHERS) families.delete(name)
    expect(namedIn(page)).toEqual([...families].sort())
  })
})

describe('the dashboard', () => {
  const { panels, templating } = dashboard()

  test('has panels with ids of their own, which lie beside each other and not on each other', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const taken = new Set<string>()
    for (const { title, gridPos } of panels) {
      expect([title, gridPos.x + gridPos.w <= 24]).toEqual([title, true])
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, taken.has(`${x} ${y}`)]).toEqual([title, false])
          taken.add(`${x} ${y}`)
        }
    }
  })

  test('asks the data source that its variable names, and uses only variables that it has', () => {
    const variables = new Set(['__rate_interval', ...templating.list.map(({ name }) => name)])
    expect(templating.list[0]).toMatchObject({
      name: 'DS_PROMETHEUS',
      type: 'datasource',
      query: 'prometheus',
    })
    for (const { title, targets = [] } of panels)
      for (const { datasource, expr } of targets) {
        expect([title, /^\$\{DS_PROMETHEUS\}$/.test(datasource.uid)]).toEqual([title, true])
        const used = [...expr.matchAll(/\$\{?(\w+)/g)].map(([, name = '']) => name)
        expect([expr, used.filter(name => !variables.has(name))]).toEqual([expr, []])
      }
  })

  test('names in each legend only labels that the query keeps', () => {
    for (const { targets = [] } of panels)
      for (const { expr, legendFormat } of targets)
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          const kept = / by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ') ?? ['job', 'instance', 'percentile']
          // The outermost aggregation decides.
          expect([expr, kept.includes(label)]).toEqual([expr, true])
        }
  })
})
