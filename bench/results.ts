/** The limits of a result. `of` says whether they apply to the value, or to its ratio to the compared value. */
export interface Reach {
  of: 'value' | 'ratio'
  atLeast?: number
  atMost?: number
}

/** One line of the table. */
export interface Result {
  measure: string
  figure?: number
  unit: string
  /** The compared value, with its name. */
  beside?: string
  limit?: number
  ratio?: number
  reach?: Reach
  /** A remark, or the reason for which the value was not measured. */
  note?: string
  /** The figures of each round, of which the result has the medians. */
  rounds?: { figure: number; limit?: number }[]
}

/** Whether a result is within its limits; empty if it has none. */
export function verdict({ figure, ratio, reach }: Result): 'yes' | 'no' | 'not measured' | '' {
  if (!reach) return ''
  const value = reach.of === 'value' ? figure : ratio
  if (value === undefined) return 'not measured'
  return value >= (reach.atLeast ?? value) && value <= (reach.atMost ?? value) ? 'yes' : 'no'
}

const HEADINGS = ['measure', 'value', 'limit', 'ratio', 'reach', 'reached?', 'note']

/** The results as a table in Markdown. */
export function tableOf(results: Result[]): string {
  const rows = [HEADINGS, ...results.map(cellsOf)]
  const widths = HEADINGS.map((_, at) => Math.max(...rows.map(row => row[at]?.length ?? 0)))
  const line = (row: string[]) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |\n`
  const rule = `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |\n`
  const [head = '', ...others] = rows.map(line)
  return [head, rule, ...others].join('')
}

/** One result as a line, for the progress. */
export function lineOf(result: Result): string {
  const [measure, ...others] = cellsOf(result)
  return `${measure}: ${others.filter(cell => cell !== '').join(', ')}`
}

function cellsOf(result: Result): string[] {
  const { measure, figure, unit, beside, limit, ratio, reach, note } = result
  return [
    measure,
    figure === undefined ? '' : withUnit(figure, unit),
    limit === undefined ? '' : `${withUnit(limit, unit)} ${beside ?? ''}`,
    ratio === undefined ? '' : ratio.toFixed(2),
    reach === undefined ? '' : describe(reach, unit),
    verdict(result),
    note ?? '',
  ]
}

function describe({ of, atLeast, atMost }: Reach, unit: string): string {
  const sign = atLeast === undefined ? '≤' : '≥'
  const bound = atLeast ?? atMost ?? Number.NaN
  return `${sign} ${of === 'ratio' ? bound : withUnit(bound, unit)}`
}

const withUnit = (value: number, unit: string) => `${rounded(value)} ${unit}`.trim()

function rounded(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return Number(value.toPrecision(3)).toString()
}

/** The median of figures. */
export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}
