import { sampleNdjson } from '../sample/generate.ts'
import { newCommand, wholeNumber } from './arguments.ts'
import { isClosed, print } from './output.ts'

/** axport sample N */
export const sampleCommand = () =>
  newCommand(
    'sample',
    'Write N assessments of made-up data to standard output, as NDJSON for axport import.',
    'The same N always gives the same data.\n\nExample: axport sample 100000 | axport import -',
  )
    .argument('<n>', 'how many assessments', wholeNumber(0, 100_000_000))
    .action(async assessments => {
      try {
        for (const chunk of sampleNdjson({ assessments })) await print(chunk)
      } catch (error) {
        // A reader that needs no more is no error here.
        if (!isClosed(error)) throw error
      }
    })
