import { Command } from 'commander'
import { type DescribedSetting, databaseUrl, describeSettings, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { openDatabase } from '../postgres/database.ts'
import { describeDisclosing, readDisclosing } from '../postgres/disclosing.ts'
import { within } from '../within.ts'
import { print, printTable } from './output.ts'

/** axport config */
export function configCommand(): Command {
  return new Command('config')
    .description(
      'Print every setting: its value (secrets masked), where it comes from, its default and meaning.',
    )
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      `
Settings come from the environment only. If DATABASE_URL is set, the last line says whether the
database has disclosures recorded.

Example: PORT=8080 axport config`,
    )
    .action(async ({ json }: { json?: true }) => {
      const settings = [...describeSettings(), ...(await ofDatabase())]
      if (json) {
        await print(`${JSON.stringify(settings)}\n`)
        return
      }
      await printTable(
        ['setting', 'value', 'from', 'default', 'meaning'],
        settings.map(s => [
          s.name,
          s.problem ? `(${s.problem})` : (s.value ?? '(not set)'),
          s.source,
          s.default ?? '-',
          s.meaning,
        ]),
      )
    })
}

/** Milliseconds in which the database has to have answered: this command is for those who have none yet, too. */
const PATIENCE = 2000

/** A setting of the database beside those of the environment. */
type OfDatabase = Omit<DescribedSetting, 'source'> & { source: DescribedSetting['source'] | 'database' }

/** What is set in the database and not in the environment; nothing where no database is named. */
async function ofDatabase(): Promise<OfDatabase[]> {
  let url: string
  try {
    url = databaseUrl()
    setting('DATABASE_POOL_SIZE')
  } catch {
    return []
  }
  const found = await within(PATIENCE, askDatabase(url), { problem: 'no answer within 2 s' })
  return [
    {
      name: 'disclosures',
      value: null,
      source: 'database',
      default: 'off, kept for 400 days',
      meaning:
        'Whether it is recorded whose records each answer shows to whom: axport migrate --disclosures.',
      ...found,
    },
  ]
}

async function askDatabase(url: string): Promise<{ value: string } | { problem: string }> {
  // Whoever opens a folder first runs its database, and a service that starts meanwhile would be the guest.
  if (url.startsWith('embedded:')) return { problem: 'axport doctor says it of an embedded database' }
  try {
    const { sql, close } = await openDatabase(url, 1)
    try {
      const state = await readDisclosing(sql)
      return state ? { value: describeDisclosing(state) } : { problem: 'its row was deleted' }
    } finally {
      await close()
    }
  } catch (error) {
    if (error instanceof Failure) return { problem: error.message }
    return { problem: `the database does not say it (${(error as { code?: string }).code ?? 'no code'})` }
  }
}
