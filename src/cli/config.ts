import { Command } from 'commander'
import { databaseUrl, describeSettings, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { openDatabase } from '../postgres/database.ts'
import { describeDisclosing, readDisclosing } from '../postgres/disclosing.ts'
import { within } from '../within.ts'
import { printJson, printTable } from './output.ts'

/** axport config */
export function configCommand(): Command {
  return new Command('config')
    .description('Print every setting with value, source, default and meaning. Secrets are masked.')
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      `
Settings come from the environment only. If DATABASE_URL is set, the last line says whether the
database records disclosures.

Example: PORT=8080 axport config`,
    )
    .action(async ({ json }: { json?: true }) => {
      const settings = [...describeSettings(), ...(await describeDatabase())]
      if (json) return await printJson(settings)
      await printTable(
        ['setting', 'value', 'from', 'default', 'meaning'],
        settings.map(({ name, problem, value, source, default: fallback, meaning }) => {
          const shown = problem ? `(${problem})` : (value ?? '(not set)')
          return [name, shown, source, fallback ?? '-', meaning]
        }),
      )
    })
}

/** The command must answer without a database too. */
const DATABASE_TIMEOUT_MS = 2000

/** The one setting that the database stores; none without a valid DATABASE_URL. */
async function describeDatabase() {
  let url: string
  try {
    url = databaseUrl()
    setting('DATABASE_POOL_SIZE')
  } catch {
    return []
  }
  const found: { value?: string; problem?: string } = await within(DATABASE_TIMEOUT_MS, readFrom(url), {
    problem: 'no answer within 2 s',
  })
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

async function readFrom(url: string): Promise<{ value: string } | { problem: string }> {
  // The first process that opens a folder owns its database: a service that starts meanwhile could not.
  if (url.startsWith('embedded:')) return { problem: 'axport doctor shows it for an embedded database' }
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
    return { problem: `the database cannot be read (${(error as { code?: string }).code ?? 'no code'})` }
  }
}
