import { availableParallelism } from 'node:os'
import { InvalidArgumentError } from 'commander'

/** A value of --workers. */
export function readWorkers(text: string): number | 'auto' {
  if (text === 'auto') return text
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (count < 1) throw new InvalidArgumentError('Give a number from 1 to 999, or auto.')
  return count
}

/** The processes that it asks for. */
export function countOf(workers: number | 'auto'): number {
  return workers === 'auto' ? availableParallelism() : workers
}
