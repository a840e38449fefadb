import { InvalidArgumentError } from '@commander-js/extra-typings'
import { sampleNdjson } from '../sample/generate.ts'
import { newCommand } from './arguments.ts'
import { print } from './output.ts'

/** axport sample N */
export const sampleCommand = () =>
  newCommand(
    'sample',
    'Write N assessments of made-up data to standard output, as NDJSON for axport import.',
    'The same N always gives the same data.\n\nExample: axport sample 100000 | axport import -',
  )
    .argument('<n>', 'how many assessments', readCount)
    .action(async assessments => {
      try {
        for (const chunk of sampleNdjson({ assessments })) await print(chunk)
      } catch (error) {
        // The reader closed the pipe, as head does.
        if ((error as { code?: string }).code !== 'EPIPE') throw error
      }
    })

function readCount(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(count <= 100_000_000)) throw new InvalidArgumentError('Give a whole number from 0 to 100000000.')
  return count
}
