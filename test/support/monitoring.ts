import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const OPERATE = join(import.meta.dir, '..', '..', 'docs', 'operate')
const read = (name: string) => readFileSync(join(OPERATE, name), 'utf8')

/** A dashboard of Grafana, as far as tests look at it. */
interface Dashboard {
  templating: { list: { name: string; type: string; query: unknown }[] }
  panels: {
    id: number
    title: string
    gridPos: Record<'x' | 'y' | 'w' | 'h', number>
    targets?: { expr: string; legendFormat: string; datasource: { uid: string } }[]
  }[]
}

/** The published dashboard. */
export const dashboard = () => JSON.parse(read('grafana.json')) as Dashboard

/** The queries of its panels. */
export const dashboardQueries = () =>
  dashboard().panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** The queries of the published alerts, but for the one that asks for nothing because it always fires. */
export function alertQueries(): string[] {
  const { groups } = Bun.YAML.parse(read('alerts.yml')) as { groups: { rules: { expr: string }[] }[] }
  return groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)).filter(expr => expr !== 'vector(1)')
}

const METRIC = /\b((?:axport|process|node)_\w+|axport:\w+|up)\b(?:\{([^}]*)\})?/g

/** The metrics of a query, each with the labels of its selector and those that aggregations around all of them keep. */
export function selectorsOf(query: string): { metric: string; wanted: string[] }[] {
  const bare = query.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
  const kept = [...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
  const found = [...bare.matchAll(METRIC)].map(([, metric = '', selector = '']) => ({
    metric,
    selected: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }))
  // With several metrics an aggregation may be around some of them alone.
  return found.map(({ metric, selected }) => ({
    metric,
    wanted: found.length === 1 ? [...selected, ...kept] : selected,
  }))
}

/** The metrics that a page names, sorted, without the parts of histograms. */
export const namedIn = (page: string) =>
  [...new Set([...page.matchAll(/`((?:axport|process)_\w+)/g)].map(([, name = '']) => name))].sort()
