import type { Database } from '../database/database.ts'
import { grantFor, LOAD, SERVE, type Work } from '../database/grants.ts'
import { migrate } from '../database/migrate.ts'
import { compatibleWith, MIGRATIONS } from '../database/migrations.ts'
import { requireTimeZone, setTimeZone } from '../database/time-zone.ts'
import { UsageFailure } from '../errors.ts'
import { newCommand } from './arguments.ts'
import { type Change, changing, settled, severalChanges } from './changing.ts'
import { disclosuresOption, keepOption, switchDisclosures } from './disclosure-options.ts'
import { print, printJson, reportOf } from './output.ts'
import { withAnySchema } from './with-database.ts'

/** What --json prints; `time_zone` and `disclosures` if the options set them. */
type Done = {
  applied: string[]
  granted: object[]
  /** After an upgrade: the number of the oldest schema whose executables can still serve. */
  compatible_with?: number
  time_zone?: object
  disclosures?: object
}

/** axport migrate */
export const migrateCommand = () =>
  newCommand(
    'migrate',
    'Create or upgrade the tables. Safe to repeat, and to run twice at once.',
    `Dates in the API are days in the platform's time zone. The time zone is stored in the database; to
change it renders every record again. A day that was given without a time stays that day, as does an
instant at midnight. Repeat both --grant options after an upgrade.

Example: axport migrate --time-zone America/New_York`,
  )
    .option('--time-zone <zone>', "the platform's time zone, as Europe/Berlin (a new database needs one)")
    .addOption(disclosuresOption())
    .addOption(keepOption())
    .option('--grant <role>', 'give this role the privileges that axport serve needs, and no others')
    .option('--grant-loader <role>', 'give this role the privileges that axport import needs, and no others')
    .option('--json', 'print a JSON object at the end')
    .action(async ({ timeZone, disclosures, disclosuresKeep, json, ...roles }) => {
      const grants = grantsOf(roles)
      const said: string[] = []
      let printing = Promise.resolve()
      // A line that cannot be printed does not keep the other steps from being taken.
      const say = async (line: string) => {
        said.push(line)
        if (!json) printing = printing.then(() => print(`${line}\n`))
        await printing.catch(() => {})
      }
      const onBlocked = (blockers: string, pauseMs: number) =>
        void process.stderr.write(`waiting for locks of ${blockers}; trying again in ${pauseMs / 1000} s\n`)
      const done: Done = { applied: [], granted: [] }
      const takeSteps = async ({ sql }: Database) => {
        const { applied } = done
        await requireTimeZone(sql, timeZone)
        await migrate(sql, MIGRATIONS, { onBlocked, onApplied: name => applied.push(name) })
        await say(applied.length > 0 ? `applied ${applied.join(', ')}` : 'the schema is up to date')
        const isUpgrade = applied.length > 0 && applied.length < MIGRATIONS.length
        if (isUpgrade) {
          done.compatible_with = oldestCompatible(applied)
          await say(`executables whose schema is ${done.compatible_with} or newer can still serve`)
        }
        if (timeZone !== undefined) {
          const { isChanged: changed, days } = await setTimeZone(sql, timeZone)
          done.time_zone = { name: timeZone, changed, days }
          await say(changed ? `the time zone is now ${timeZone}` : `the time zone is ${timeZone} already`)
          if (days > 0)
            await say(
              `assessments and parts that were completed at a midnight, as days are, and keep their day: ${days}`,
            )
        }
        if (disclosures !== undefined || disclosuresKeep !== undefined)
          done.disclosures = await switchDisclosures(sql, disclosures, disclosuresKeep, say)
        for (const { role, work } of grants) {
          await grantFor(sql, role, work)
          done.granted.push({ role, for: `axport ${work.command}` })
          await say(`${role} has what axport ${work.command} needs`)
        }
      }
      await changing(changeOf(done.applied, said), async interruption => {
        const { failure } = await settled(withAnySchema(takeSteps, interruption))
        if (json) printing = printJson({ ...done, ...(failure && { committed: null }) })
        await reportOf(said.join('; '), printing).catch(error => {
          throw failure ?? error
        })
        if (failure) throw failure
      })
    })

/** The change of a migration, which names the steps that were taken before it ended. */
function changeOf(applied: string[], said: string[]): Change {
  const undone = 'nothing was changed'
  return {
    ...severalChanges(undone),
    get done() {
      const steps = said.length > 0 ? said : applied.length > 0 ? [`applied ${applied.join(', ')}`] : []
      return steps.length > 0 ? `${steps.join('; ')}; the rest was not done` : undone
    },
  }
}

function oldestCompatible(applied: string[]): number {
  return Math.max(...MIGRATIONS.filter(({ name }) => applied.includes(name)).map(compatibleWith))
}

interface Roles {
  grant?: string
  grantLoader?: string
}

/** The roles that were given, each with its work. @throws UsageFailure for one role for both */
function grantsOf({ grant, grantLoader }: Roles): { role: string; work: Work }[] {
  const wanted = [
    { role: grant, work: SERVE },
    { role: grantLoader, work: LOAD },
  ]
  if (grant !== undefined && grant === grantLoader)
    throw new UsageFailure('--grant and --grant-loader need two roles: one revokes what the other grants')
  return wanted.flatMap(({ role, work }) => (role === undefined ? [] : [{ role, work }]))
}
