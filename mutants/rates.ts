import { dirname } from 'node:path'
import type { Outcome } from './trial.ts'

/** The outcome of a change. `by` is the test that failed, or the reason. */
export interface Result {
  path: string
  before: string
  after: string
  outcome: Outcome | 'equivalent'
  by: string
  seconds: number
}

/** Prints a table with a row for each folder. The rate leaves out invalid and equivalent mutants. */
export function printRates(results: Result[], drawn: number): void {
  const folders = [...new Set(results.map(({ path }) => dirname(path)))].sort()
  const of = (folder: string) => results.filter(({ path }) => dirname(path) === folder)
  console.log('\n| folder | mutants | killed | by timeout | survived | invalid | equivalent | rate |')
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |')
  for (const folder of folders) console.log(row(folder, of(folder)))
  console.log(row('all', results))
  if (results.length < drawn) console.log(`\n${drawn - results.length} of ${drawn} are left: run this again`)
}

function row(name: string, results: Result[]): string {
  const count = (outcome: Result['outcome']) => results.filter(result => result.outcome === outcome).length
  const killed = count('killed') + count('timeout')
  const rate = (100 * killed) / Math.max(1, killed + count('survived'))
  const counts = [count('killed'), count('timeout'), count('survived'), count('invalid'), count('equivalent')]
  return `| ${[name, results.length, ...counts, `${rate.toFixed(1)} %`].join(' | ')} |`
}
