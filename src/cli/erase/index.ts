import { Command } from 'commander'
import { type Erasure, erasePerson, undoErasure } from '../../erasure/erase.ts'
import { IncompleteFailure, UsageFailure } from '../../errors.ts'
import { exactJson, exactNumber } from '../../integrations/exact-ids.ts'
import { requireCurrentSchema } from '../../postgres/schema/schema-record.ts'
import { readId } from '../arguments.ts'
import { changing, untilSeen, waitOption } from '../integration/standbys.ts'
import { print } from '../output.ts'
import { standbyServers } from '../standbys.ts'
import { withDatabase } from '../with-database.ts'
import { inWords, undoneInWords } from './describe.ts'
import { askAgain, notesOnProctored, type Shown, shownTo, unreadable } from './shown.ts'

interface Options {
  undo?: true
  dryRun?: true
  json?: true
  wait: number
}

/** axport erase USER_ID */
export function eraseCommand(): Command {
  return new Command('erase')
    .description('Remove a person for good; loads leave them out.')
    .argument('<id>', 'the id of the user on the platform', readId)
    .option('--dry-run', 'change nothing, only say what would be removed')
    .option('--undo', 'lift it: the next load that has the person brings the person back')
    .addOption(waitOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The assessments of which the person is the educator go. In those of others, which the person
proctored, the name becomes "Erased person". What is left is the bare id: imports, feeds, --sync and
restores leave the person out by it. Integrations that were shown the records are named, as far as
disclosures are recorded. Run it as the owner of the tables; see docs/operate/privacy.md.

Example: axport erase 501 --dry-run`,
    )
    .action(async (userId: string, options: Options) => {
      if (options.undo && options.dryRun) throw new UsageFailure('--undo goes without --dry-run')
      await (options.undo ? undo(userId, options) : erase(userId, options))
    })
}

/** What was done, and who was shown the person before. */
type Done = [Erasure, Shown]

/** Asks who was shown the person when no standby shows the person any more: until then, more may be recorded. */
async function erase(userId: string, { dryRun: given, json, wait }: Options): Promise<void> {
  const dryRun = given === true
  const servers = standbyServers()
  await withDatabase(async ({ sql }) => {
    await requireCurrentSchema(sql)
    const erasure = await erasePerson(sql, userId, { dryRun, onWait })
    const late = dryRun ? undefined : await untilSeen(sql, servers, wait).then(() => undefined, keptOf)
    const { integrations, notes } = await shownTo(sql, userId).catch(() => unreadable(userId))
    const more = [...(late ? [askAgain(userId)] : []), ...notesOnProctored(erasure.proctored)]
    const done: Done = [erasure, { integrations, notes: [...notes, ...more] }]
    await print(json ? asJson(userId, dryRun, done) : inWords(userId, dryRun, ...done))
    if (late) throw late
    if (erasure.unwiped !== undefined) throw unwiped(userId, erasure.unwiped)
  })
}

/** What untilSeen() throws where standbys are late; all else goes on. */
function keptOf(error: unknown): IncompleteFailure {
  if (error instanceof IncompleteFailure) return error
  throw error
}

const unwiped = (userId: string, why: string) =>
  new IncompleteFailure(
    `user ${userId} is erased, and the files of the tables still have what was deleted: vacuum failed (${why}); axport erase ${userId} tries again`,
  )

async function undo(userId: string, { json, wait }: Options): Promise<void> {
  await changing(
    wait,
    async sql => {
      await requireCurrentSchema(sql)
      return await undoErasure(sql, userId, onWait)
    },
    erasedAt => {
      const object = { user_id: exactNumber(userId), undone: erasedAt !== null, erased_at: erasedAt }
      return print(json ? `${exactJson(object)}\n` : undoneInWords(userId, erasedAt))
    },
  )
}

const onWait = () => void process.stderr.write('waiting for an import to finish …\n')

function asJson(userId: string, isDryRun: boolean, [erasure, { integrations, notes }]: Done): string {
  const { erasedBefore, assessments, parts, proctored, user } = erasure
  const object = {
    ...{ user_id: exactNumber(userId), erased: !isDryRun, dry_run: isDryRun, erased_before: erasedBefore },
    ...{ assessments, assessment_parts: parts, proctored, user: user.replaceAll(' ', '_') },
    ...{ shown_to: integrations, notes },
  }
  return `${exactJson(object)}\n`
}
