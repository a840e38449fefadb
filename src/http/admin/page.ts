import { filled, Html, html } from '../../html.ts'
import { chart } from './chart.ts'
import { SCHEMA_INFO } from './data-metrics.ts'
import type { MetricsJson } from './metrics.ts'
import type { Minute } from './minutes.ts'
import style from './page.css' with { type: 'text' }
import page from './page.html.txt' with { type: 'text' }
import type { Readiness } from './readiness.ts'

/** What the page shows besides the readiness: what /metrics says, and the last hour. */
export interface ProcessNumbers {
  metrics: MetricsJson
  /** Undefined for a process that answers no requests, as that of a feed. */
  minutes?: Minute[]
}

/** The numbers of a service. */
export type ServiceNumbers = Required<ProcessNumbers>

const styleHash = new Bun.CryptoHasher('sha256').update(style).digest('base64')

/** Nothing is loaded or run, and the style is the one that is sent. */
export const PAGE_POLICY =
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; ` +
  "frame-ancestors 'none'"

/** The page of the operator's port. It has nothing that /ready and /metrics do not have: no client ids, no people. */
export function statusPage(
  readiness: Readiness,
  { metrics, minutes }: ProcessNumbers,
  now = new Date(),
): string {
  const { ready, checks } = readiness
  const hasWarning = checks.some(({ status }) => status === 'warning')
  const state = !ready ? 'wrong' : hasWarning ? 'warning' : 'ok'
  const heading = { ok: 'Ready', warning: 'Ready, with a warning', wrong: 'Not ready' }[state]
  const read = new Numbers(metrics, now.getTime() / 1000)
  const ofProcess = processes(read)
  return filled(page, {
    title: `${heading} · axport`,
    // Not of the data: it is not escaped.
    style: new Html(style),
    state,
    heading,
    made: `axport, ${utc(now)}`,
    checks: checks.map(
      ({ check, status, detail }) =>
        html`<dt>${check}</dt><dd><b class="${status}">${status}</b>${detail && `: ${detail}`}</dd>`,
    ),
    requests:
      minutes &&
      html`<section class="wide"><h2>Requests a minute, the last hour</h2>${chart(minutes)}</section>`,
    feeds: feeds(read),
    data: minutes && section('Data', data(read)),
    process: ofProcess.length > 0 && section('Process', ofProcess),
  }).text
}

type Row = [label: string, value: string | undefined]

/** A section of labels and values. What is not known says so. */
function section(title: string, rows: Row[]): Html {
  return html`<section><h2>${title}</h2>${list(rows)}</section>`
}

const UNKNOWN = html`<span class="unknown">not known</span>`

const list = (rows: Row[]): Html =>
  html`<dl>${rows.map(([label, value]) => html`<dt>${label}</dt><dd>${value ?? UNKNOWN}</dd>`)}</dl>`

function data(read: Numbers): Row[] {
  const ago = (name: string, none = 'never') => (read.isKnown ? (read.ago(name) ?? none) : undefined)
  const disclosures = read.value('axport_disclosures_on')
  return [
    ['schema', read.labels(SCHEMA_INFO, 'migration').sort().at(-1)],
    ['last import', ago('axport_last_import_timestamp_seconds')],
    ['version of the data', read.text('axport_export_version')],
    ['disclosures', disclosures === undefined ? undefined : disclosures ? 'recorded' : 'off'],
    ['oldest secret', ago('axport_oldest_secret_timestamp_seconds', 'none')],
  ]
}

function feeds(read: Numbers): Html | null {
  const names = read.labels('axport_feed_rejected_rows', 'feed')
  if (names.length === 0) return read.isKnown ? null : html`<section><h2>Feeds</h2>${UNKNOWN}</section>`
  const of = (feed: string): Row[] => [
    ['last round', read.ago('axport_feed_last_success_timestamp_seconds', { feed }) ?? 'none loaded yet'],
    ['position', read.ago('axport_feed_position_timestamp_seconds', { feed })],
    ['rows that wait', read.text('axport_feed_rejected_rows', { feed })],
    ['failed rounds since', read.text('axport_feed_failed_rounds', { feed })],
  ]
  // The service knows what the database knows, and the process of a feed what it did itself.
  const known = (rows: Row[]) => rows.filter(([, value]) => value !== undefined)
  return html`<section><h2>Feeds</h2>${names.map(feed => html`<h3>${feed}</h3>${list(known(of(feed)))}`)}</section>`
}

function processes(read: Numbers): Row[] {
  const [build] = read.samples('axport_build_info')
  const memory = read.value('process_resident_memory_bytes')
  const lag = read.value('axport_event_loop_lag_seconds', { percentile: '99' })
  const rows: Row[] = [
    ['version', build && [build.labels.version, build.labels.commit].filter(Boolean).join(', ')],
    ['requests in flight', read.text('axport_requests_in_flight')],
    ['connections', connections(read)],
    ['memory', memory === undefined ? undefined : `${Math.round(memory / 1e6)} MB`],
    ['event loop lag', lag === undefined ? undefined : `${(lag * 1000).toFixed(0)} ms (99 %)`],
    ['started', read.ago('process_start_time_seconds')],
  ]
  return rows.filter(([, value]) => value !== undefined)
}

function connections(read: Numbers): string | undefined {
  const [used, idle, max, waiting] = [
    'connections_in_use',
    'connections_idle',
    'connections_max',
    'waiting',
  ].map(name => read.text(`axport_database_${name}`))
  return used === undefined
    ? undefined
    : `${used} of ${max} in use, ${idle} idle; statements that wait for one: ${waiting}`
}

type Labels = Record<string, string | number>

/** The samples of metrics by name and labels. */
class Numbers {
  constructor(
    private readonly metrics: MetricsJson,
    /** In Unix seconds. */
    private readonly now: number,
  ) {}

  /** Whether the database was read for these metrics. */
  get isKnown(): boolean {
    return this.value(SCHEMA_INFO) !== undefined
  }

  samples(name: string): { value: number; labels: Labels }[] {
    const metric = this.metrics.find(metric => metric.name === name)
    return (metric?.values ?? []) as { value: number; labels: Labels }[]
  }

  value(name: string, wanted: Labels = {}): number | undefined {
    const isWanted = ({ labels }: { labels: Labels }) =>
      Object.entries(wanted).every(([label, value]) => labels[label] === value)
    return this.samples(name).find(isWanted)?.value
  }

  labels(name: string, label: string): string[] {
    return this.samples(name).map(({ labels }) => String(labels[label]))
  }

  text(name: string, wanted?: Labels): string | undefined {
    return this.value(name, wanted)?.toLocaleString('en-US')
  }

  /** How long ago an instant is. */
  ago(name: string, wanted?: Labels): string | undefined {
    const at = this.value(name, wanted)
    if (at === undefined) return undefined
    const seconds = Math.max(0, Math.round(this.now - at))
    for (const [unit, size] of UNITS)
      if (seconds >= 2 * size) return `${Math.floor(seconds / size)} ${unit} ago`
    return `${seconds} s ago`
  }
}

const UNITS: [unit: string, seconds: number][] = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
]

const utc = (at: Date) => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`
