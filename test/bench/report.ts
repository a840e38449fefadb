import { cpus, totalmem } from 'node:os'
import type { Options } from './options.ts'
import type { Result } from './turns.ts'
import type { World } from './world.ts'

/** The results, with the machine and the versions of the programs. */
export interface Report extends Pick<Options, 'records' | 'rounds' | 'seconds'> {
  machine: string
  date: string
  /** The version, the commit and the Bun of each executable. */
  executables: Record<string, string>[]
  postgres: string
  results: Result[]
}

/** Makes the report of the results. */
export async function report({ sides, postgres }: World, results: Result[]): Promise<Report> {
  const { records, rounds, seconds } = sides[0].options
  const executables = []
  for (const side of sides) executables.push(JSON.parse(await side.axport(['version', '--json'])))
  const processor = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`
  const machine = `${processor}, ${Math.round(totalmem() / 2 ** 30)} GB`
  return { records, rounds, seconds, machine, date: new Date().toISOString(), executables, postgres, results }
}

/** The report as text: a line about the run, and the results as a table in Markdown. */
export function textOf({ records, machine, executables, postgres, date, results }: Report): string {
  const [present, before] = executables.map(({ version, commit }) => `${version} ${commit}`)
  const what = `${records.toLocaleString('en-US')} assessments, axport ${present}${before ? ` (before: ${before})` : ''}`
  const rows = [['measure', 'value', 'before', 'value ÷ before'], ...results.map(cellsOf)]
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map(row => row[at]?.length ?? 0))) ?? []
  const line = (cells: string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |\n`
  const [head = '', ...others] = rows.map(line)
  const rule = `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |\n`
  return `${what}, Postgres ${postgres}, ${machine}, ${date.slice(0, 10)}\n\n${[head, rule, ...others].join('')}`
}

/** One result as a line, for the progress. */
export function lineOf(result: Result): string {
  const [measure, ...others] = cellsOf(result)
  return `${measure}: ${others.filter(cell => cell !== '').join(', ')}`
}

function cellsOf({ measure, present, before, ratio }: Result): string[] {
  return [
    measure,
    rounded(present),
    before === undefined ? '' : rounded(before),
    ratio === undefined ? '' : ratio.toFixed(2),
  ]
}

function rounded(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : Number(value.toPrecision(3)).toString()
}
