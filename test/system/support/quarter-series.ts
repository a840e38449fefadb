import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder } from '../../support/executable.ts'
import { until } from '../../support/until.ts'

/** The first minute of the quarter. promtool begins at the epoch, so each exported time is moved back by so many seconds. */
export const START = Date.UTC(2027, 0, 1) / 1000
export const DAY = 24 * 60

/** Rules are evaluated so rarely because each evaluation reads a day of some series, and a week of others. */
const EVALUATION = '4h'

/** What this machine needs for an answer says nothing of the events of the quarter, and may be anything while others use it. */
const OF_THE_MACHINE = /^(axport_event_loop_lag_seconds|axport_request_seconds|process_(resident|cpu))/

/** After a restart it has no samples until there are requests. */
const OF_A_PROCESS = /^axport_requests_total/

type Scrape = { minute: number; values: Map<string, number> }

/** What Prometheus has read of /metrics in each minute of the quarter. */
export class QuarterSeries {
  private readonly scrapes: Scrape[] = []

  /** Reads the metrics as they are in a minute: first in minute 0, and each time in a later one. */
  async scrape(minute: number, admin: string): Promise<void> {
    const known = [...(this.scrapes.at(-1)?.values.keys() ?? [])].filter(name => !OF_A_PROCESS.test(name))
    const values = await until('the database has answered in time', async () => {
      const read = await valuesAt(admin)
      return known.every(name => read.has(name)) && read
    })
    this.scrapes.push({ minute, values })
  }

  /**
   * Lets promtool evaluate the published rules.
   * @param expected the alerts that fire on each day
   * @returns "SUCCESS", or where they fire otherwise
   */
  async evaluate(expected: string[][]): Promise<string> {
    const file = join(emptyFolder(), 'quarter.yml')
    const names = new Set(this.scrapes.flatMap(({ values }) => [...values.keys()]))
    const days = expected.map((alerts, day) => ({
      expr: 'max by (alertname) (max_over_time(ALERTS{alertstate="firing"}[23h30m]))',
      eval_time: `${day * 24 + 23}h`,
      exp_samples: alerts.map(name => ({ labels: `{alertname="${name}"}`, value: 1 })),
    }))
    const input_series = [...names].map(series => ({
      series,
      values: this.valuesOf(series, expected.length * DAY),
    }))
    const alerts = join(import.meta.dir, '..', '..', '..', 'docs', 'operate', 'alerts.yml')
    const tests = [{ interval: '1m', input_series, promql_expr_test: days }]
    writeFileSync(file, JSON.stringify({ rule_files: [alerts], evaluation_interval: EVALUATION, tests }))
    const run = Bun.spawn(['promtool', 'test', 'rules', file], { stdout: 'pipe', stderr: 'pipe' })
    const [output, errors] = await Promise.all([
      new Response(run.stdout).text(),
      new Response(run.stderr).text(),
    ])
    return (await run.exited) === 0 && output.includes('SUCCESS') ? 'SUCCESS' : output + errors
  }

  /**
   * A series in the notation of promtool, with a value for each minute until `end`. The minutes until the next scrape are as
   * the one before them: if the round of that minute was loaded, so are theirs, and all else stays.
   */
  private valuesOf(series: string, end: number): string {
    const tokens = this.scrapes.map(({ minute, values }, at) => {
      const rest = (this.scrapes[at + 1]?.minute ?? end) - minute - 1
      const value = values.get(series)
      if (value === undefined) return `_x${rest + 1}`
      const isNow = value >= minute * 60 && OF_A_ROUND.test(series)
      return `${value}+${isNow ? 60 : 0}x${rest}`
    })
    return tokens.join(' ')
  }
}

/** What each round that is loaded sets to its time. */
const OF_A_ROUND = /^axport_(feed_last_success|feed_position|last_import)_timestamp_seconds/

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/gm

/** The samples of /metrics, with the labels that Prometheus adds, and `up`. */
async function valuesAt(admin: string): Promise<Map<string, number>> {
  const answer = await fetch(`${admin}/metrics`)
  const values = new Map([['up{job="axport",instance="one"}', Number(answer.ok)]])
  for (const [, name = '', labels = '', text] of (await answer.text()).matchAll(SAMPLE)) {
    if (OF_THE_MACHINE.test(name)) continue
    const value = /_time(stamp)?_seconds$/.test(name) ? Number(text) - START : Number(text)
    values.set(`${name}{job="axport",instance="one"${labels && `,${labels}`}}`, value)
  }
  return values
}
