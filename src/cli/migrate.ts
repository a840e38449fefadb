import { Command } from 'commander'
import type { Sql } from 'postgres'
import { UsageFailure } from '../errors.ts'
import { describeDisclosing, setDisclosing } from '../postgres/disclosing.ts'
import { grantFor } from '../postgres/privileges/grant.ts'
import { LOAD, type Purpose, SERVE } from '../postgres/privileges/purposes.ts'
import { migrate } from '../postgres/schema/migrate.ts'
import { MIGRATIONS } from '../postgres/schema/migrations.ts'
import { setTimeZone } from '../postgres/schema/time-zone.ts'
import { oneOf, readKept } from './arguments.ts'
import { untilSeen, waitOption } from './integration/standbys.ts'
import { print } from './output.ts'
import { standbyServers } from './standbys.ts'
import { withAnySchema } from './with-database.ts'

interface Options {
  timeZone?: string
  disclosures?: 'on' | 'off'
  disclosuresKeep?: string
  wait: number
  grant?: string
  grantLoader?: string
  json?: true
}

/** What --json prints; a time zone, and whether disclosures are recorded, where that was asked for. */
interface Done {
  applied: string[]
  time_zone?: { name: string; changed: boolean }
  /** `kept` as Postgres writes an interval; null for ever. */
  disclosures?: { on: boolean; kept: string | null; changed: boolean }
  granted: { role: string; for: string }[]
}

/** axport migrate */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Bring the database schema up to date; safe to repeat and to run twice at once.')
    .option('--time-zone <zone>', "the platform's time zone, as Europe/Berlin (a new database has UTC)")
    .option(
      '--disclosures <on|off>',
      'whether to record, before it is sent, whose records each answer shows to whom (a new database has off)',
      oneOf('on', 'off'),
    )
    .option(
      '--disclosures-keep <duration>',
      'for how long, as 400d, or forever (a new database has 400d)',
      readKept,
    )
    .addOption(waitOption())
    .option('--grant <role>', 'give this role exactly what axport serve needs, and nothing more')
    .option('--grant-loader <role>', 'give this role exactly what axport import needs, and nothing more')
    .option('--json', 'print one JSON object, when all is done')
    .addHelpText(
      'after',
      `
Dates in the API are days in the platform's time zone. It is a property of the database: changing
it renders every record anew. Repeat --grant and --grant-loader after an upgrade.
While disclosures are recorded, older executables refuse to start: they would not record. Stop those
that are running before you switch the record on.

Example: axport migrate --time-zone America/New_York`,
    )
    .action(async ({ timeZone, grant, grantLoader, json, ...options }: Options) => {
      requireRoles(grant, grantLoader)
      // A wrong setting is not to be found after the change.
      const servers = options.disclosures === 'on' ? standbyServers() : []
      const say = async (line: string) => (json ? undefined : await print(`${line}\n`))
      await withAnySchema(async ({ sql }) => {
        const applied = await migrate(sql, MIGRATIONS, { onBlocked: tellBlocked })
        await say(applied.length > 0 ? `applied ${applied.join(', ')}` : 'the schema is up to date')
        const done: Done = { applied, granted: [] }
        if (timeZone !== undefined) {
          const changed = await setTimeZone(sql, timeZone)
          done.time_zone = { name: timeZone, changed }
          await say(changed ? `the time zone is now ${timeZone}` : `the time zone is ${timeZone} already`)
        }
        if (options.disclosures !== undefined || options.disclosuresKeep !== undefined) {
          done.disclosures = await switchDisclosures(sql, options)
          const { changed, on: isOn, kept } = done.disclosures
          const words = describeDisclosing({ isOn, kept })
          if (changed && isOn) process.stderr.write(OLDER)
          await say(changed ? `disclosures are now ${words}` : `disclosures are ${words} already`)
        }
        const grants: [string | undefined, Purpose][] = [
          [grant, SERVE],
          [grantLoader, LOAD],
        ]
        for (const [role, purpose] of grants) {
          if (role === undefined) continue
          await grantFor(sql, role, purpose)
          done.granted.push({ role, for: purpose.commands })
          await say(`${role} has what ${purpose.commands} needs`)
        }
        if (json) await print(`${JSON.stringify(done)}\n`)
        await untilSeen(sql, servers, options.wait)
      })
    })
}

/** They look at the schema when they start. */
const OLDER = 'services of older executables that are running do not record: stop them\n'

async function switchDisclosures(
  sql: Sql,
  { disclosures, disclosuresKeep }: Options,
): Promise<NonNullable<Done['disclosures']>> {
  const { isOn, ...rest } = await setDisclosing(sql, {
    ...(disclosures && { isOn: disclosures === 'on' }),
    ...(disclosuresKeep !== undefined && { kept: disclosuresKeep === 'forever' ? null : disclosuresKeep }),
  })
  return { on: isOn, ...rest }
}

/** On standard error, beside whatever the result is printed as. */
function tellBlocked(blockers: string, pause: number): void {
  process.stderr.write(`waiting for locks of ${blockers}; trying again in ${pause / 1000} s\n`)
}

function requireRoles(grant: string | undefined, grantLoader: string | undefined): void {
  if (grant?.trim() === '')
    throw new UsageFailure('--grant needs the name of a role, as --grant axport_serve')
  if (grantLoader?.trim() === '')
    throw new UsageFailure('--grant-loader needs the name of a role, as --grant-loader axport_load')
  if (grant !== undefined && grant === grantLoader)
    throw new UsageFailure('--grant and --grant-loader need two roles: each takes back what the other gives')
}
