import { Command, InvalidArgumentError, Option } from 'commander'
import type { Moment, Question } from '../../disclosures/question.ts'
import { readId } from '../arguments.ts'
import { withDatabase } from '../with-database.ts'
import { tellOfRecord } from './notes.ts'
import { printEach, printShown } from './print.ts'

interface Options {
  user?: string
  assessment?: string
  integration?: string
  since?: Moment
  until?: Moment
  each?: true
  csv?: true
  json?: true
}

/** axport disclosures */
export function disclosuresCommand(): Command {
  return new Command('disclosures')
    .description('Show which integrations were shown whose records.')
    .addOption(
      new Option('--user <id>', 'the records of this educator').argParser(readId).conflicts('assessment'),
    )
    .option('--assessment <id>', 'this assessment', readId)
    .option('--integration <client-id>', 'what this integration was shown, also if it is deleted')
    .option('--since <when>', 'from this day on, as 2026-09-01, or for so long, as 90d', readMoment)
    .option('--until <when>', 'until the end of this day, or until so long ago', readMoment)
    .option('--each', 'every single answer, with its request id')
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      `
Answers are in the record from axport migrate --disclosures on, and for as long as it is kept. It
has ids alone, and also finds people whose assessments have been removed since. Days are those of
the platform's time zone.

Example: axport disclosures --user 501 --since 90d`,
    )
    .action(async ({ user, assessment, integration, since, until, ...form }: Options) => {
      const question: Question = {
        ...(user !== undefined && { userId: user }),
        ...(assessment !== undefined && { assessmentId: assessment }),
        ...(integration !== undefined && { clientId: integration }),
        ...(since && { since }),
        ...(until && { until }),
      }
      await withDatabase(async ({ sql }) => {
        await (form.each ? printEach : printShown)(sql, question, form)
        await tellOfRecord(sql)
      })
    })
}

/** "90d" or "36h", or a day. */
function readMoment(text: string): Moment {
  const [, amount, unit] = /^(\d{1,5})([hd])$/.exec(text.trim()) ?? []
  if (amount !== undefined) return { ago: Number(amount) * (unit === 'd' ? 86_400 : 3600) }
  const day = text.trim()
  const isDay = /^(?!0000)\d{4}-\d\d-\d\d$/.test(day) && new Date(`${day}T00:00Z`).toJSON()?.startsWith(day)
  if (!isDay) throw new InvalidArgumentError('Give a day as 2026-09-01, or so long ago as 90d.')
  return { day }
}
