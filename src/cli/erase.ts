import { Option } from '@commander-js/extra-typings'
import type { Sql } from 'postgres'
import { LAG_MS } from '../assessments/standby.ts'
import { setting } from '../config.ts'
import { requestMs } from '../database/bounds.ts'
import { requireCurrentSchema } from '../database/schema-record.ts'
import type { CommandSql } from '../database/transact.ts'
import { describeAhead, readCoverage, recordedUntil } from '../disclosures/coverage.ts'
import { listRecipients, type Recipient } from '../disclosures/recipients.ts'
import { type Erasure, erasePerson, removeTombstone } from '../erasure/erase.ts'
import { erasedAt } from '../erasure/tombstones.ts'
import { Failure } from '../errors.ts'
import { exactNumber } from '../integrations/exact-ids.ts'
import { findPerson } from '../tables/people.ts'
import { newCommand, readId } from './arguments.ts'
import { changeAndReport, type Doubt, oneChange } from './changing.ts'
import { confirm, requireTerminal } from './confirm.ts'
import { BY_TODAY } from './disclosures-person.ts'
import { WAIT_MS } from './limits.ts'
import { counted, escaped, fieldLines, print, printJson } from './output.ts'
import { describeRecipient } from './recipients.ts'
import { standbyUrl } from './standby.ts'

/** axport erase USER_ID */
export const eraseCommand = () =>
  newCommand(
    'erase',
    'Remove a person for good, and keep the person out.',
    `Assessments of which the person is the educator are removed. In those that the person proctored, the
name becomes "Erased person". The id stays as a tombstone, so that imports and feeds leave
the person out; axport erasures lists the tombstones. If disclosures were recorded, it names
the integrations that were sent the person's records, and those that were sent assessments of others
which name the person as a proctor today. It also says until when pages that were read
before may still be recorded: a request has six seconds and STATEMENT_TIMEOUT, and with
DATABASE_READ_URL a page may be ten seconds old. Run it with the settings of the service, as the
owner of the tables; see docs/operate/privacy.md.

Example: axport erase 501 --dry-run`,
  )
    .argument('<id>', 'the id of the user on the platform', readId)
    .option('--dry-run', 'change nothing, only show what would be removed')
    .option('--yes', 'do not ask for the id to confirm; required without a terminal, or for an unknown id')
    .addOption(
      new Option(
        '--remove-tombstone',
        'bring nothing back, but let later imports bring the person back',
      ).conflicts('dryRun'),
    )
    .option('--json', 'print a JSON object')
    .action(async (userId, options) => {
      await (options.removeTombstone ? readmit(userId, options) : erase(userId, options))
    })

interface Options {
  dryRun?: true
  yes?: true
  json?: true
}

/** The integrations that were sent records of a person; null if that is not known. */
interface Recipients {
  integrations: Recipient[] | null
  /** Those that were sent records of others with the person as a proctor, by the parts of today; null if that is not known. */
  asProctor: Recipient[] | null
  /** Until when pages that were read before the erasure may be recorded and sent; null if that is no matter, or not known. */
  until: string | null
  notes: string[]
}

async function erase(userId: string, { dryRun: isDryRun, yes, json }: Options): Promise<void> {
  const dryRun = isDryRun === true
  const isAsked = !dryRun && !yes
  if (isAsked) requireTerminal(`axport erase ${userId}`)
  // Read before anything is changed: it may be wrong.
  const limits = { waitMs: WAIT_MS, statementMs: setting('STATEMENT_TIMEOUT') }
  const requestTime = requestMs(limits) + (standbyUrl() === undefined ? 0 : LAG_MS)
  const report = async (erasure: Erasure, doubt: Doubt | undefined, sql: CommandSql) => {
    if (doubt && json) await printJson({ user_id: exactNumber(userId), erased: null, ...doubt })
    if (doubt) return
    const recipients = await recipientsOf(sql, userId, dryRun ? undefined : requestTime).catch(() => ({
      ...NOT_KNOWN,
      notes: [`disclosures could not be read: run axport disclosures --user ${userId} again`],
    }))
    if (erasure.proctored > 0 && recipients.asProctor !== null) recipients.notes.push(BY_TODAY)
    const printing = json
      ? printJson(jsonOf(userId, dryRun, erasure, recipients))
      : print(textOf(userId, dryRun, erasure, recipients))
    // The error says to run the command again, which prints all again.
    await (erasure.vacuumFailure === undefined ? printing : printing.catch(() => {}))
    if (erasure.vacuumFailure !== undefined)
      throw new Failure(
        `user ${userId} is erased, and the files of the tables still have what was deleted: VACUUM failed (${erasure.vacuumFailure}); axport erase ${userId} tries again`,
      )
  }
  await changeAndReport(
    oneChange(`user ${userId} was erased`, 'nobody was erased', `axport erase ${userId} --dry-run shows it`),
    async sql => {
      await requireCurrentSchema(sql)
      if (isAsked) await confirmErasure(sql, userId)
      return await erasePerson(sql, userId, { dryRun, onWait })
    },
    report,
  )
}

/** Asks whether this is the person. @throws Failure for another answer, and for an id that nobody has */
async function confirmErasure(sql: Sql, userId: string): Promise<void> {
  const person = await findPerson(sql, userId)
  const before = await erasedAt(sql, userId)
  if (!person && before === null)
    throw new Failure(
      `nobody in the data has the id ${userId}: nothing was changed. To keep a person with this id out of later ` +
        `imports: axport erase ${userId} --yes`,
    )
  const what = person
    ? `is ${escaped(person.name)}. To be removed: ${counted(person.assessments, 'assessment')}, and the name in ` +
      `${counted(person.proctored, 'assessment')} of others.`
    : 'is not in the data.'
  const again = before === null ? '' : ` The person was erased before, at ${before}.`
  await confirm(
    `User ${userId} ${what}${again} This cannot be undone.\nType the id again: `,
    userId,
    'that is another id: nothing was changed',
  )
}

async function readmit(userId: string, { json }: Options): Promise<void> {
  const removed = `the tombstone of user ${userId} was removed`
  const missing = `user ${userId} has no tombstone: nothing was changed`
  await changeAndReport(
    oneChange(removed, 'nothing was changed', `axport erase ${userId} --dry-run shows it`),
    async sql => {
      await requireCurrentSchema(sql)
      return await removeTombstone(sql, userId, onWait)
    },
    async (erasedAt, doubt) => {
      if (json)
        return printJson({
          user_id: exactNumber(userId),
          tombstone_removed: doubt ? null : erasedAt !== null,
          erased_at: erasedAt,
          ...doubt,
        })
      if (doubt) return
      if (erasedAt === null) return print(`${missing}\n`)
      return print(
        `the tombstone of user ${userId}, who was erased at ${erasedAt}, is removed: the next import that has the ` +
          'person brings the person back; a feed needs --full once\n',
      )
    },
    { doneOf: erasedAt => (erasedAt === null ? missing : removed) },
  )
}

const onWait = () => void process.stderr.write('waiting for an import to finish …\n')

/** @param requestTime milliseconds from the erasure to the end of the last request that may show the person; undefined in a dry run */
async function recipientsOf(sql: Sql, userId: string, requestTime: number | undefined): Promise<Recipients> {
  const { state, begins, ahead } = await readCoverage(sql)
  if (begins === null && !state?.isOn) {
    const note = 'disclosures are not recorded: axport migrate --disclosures on starts that'
    return { ...NOT_KNOWN, notes: [note] }
  }
  const isOpen = state?.isOn === true && requestTime !== undefined
  const until = isOpen ? await recordedUntil(sql, requestTime) : null
  const integrations = await listRecipients(sql, { userId })
  const asProctor = await listRecipients(sql, { proctorId: userId })
  const notes = begins === null ? [] : [`the record begins with ${begins}`]
  if (ahead !== null) notes.push(describeAhead(ahead))
  if (!state?.isOn)
    notes.push('disclosures are not recorded now: answers sent while the record was off are not known')
  if (until !== null)
    notes.push(
      `pages that were read before the erasure may be recorded and sent until ${until}: run axport disclosures --user ${userId} then`,
    )
  return { integrations, asProctor, until, notes }
}

const NOT_KNOWN = { integrations: null, asProctor: null, until: null }

function textOf(
  userId: string,
  isDryRun: boolean,
  erasure: Erasure,
  { integrations, asProctor, notes }: Recipients,
): string {
  const { erasedBefore, assessments, parts, proctored } = erasure
  const state = isDryRun ? 'would be erased' : 'is erased'
  const before = erasedBefore === null ? '' : `, and was erased before, at ${erasedBefore}`
  return fieldLines(
    [
      ['user', `${userId} ${state}${before}`],
      ['row', describeRow(erasure, isDryRun)],
      ['assessments', `${assessments} with ${counted(parts, 'part')} ${isDryRun ? 'to remove' : 'removed'}`],
      ['proctored', `${counted(proctored, 'assessment')} of others, without the name`],
      ['shown to', linesOf(integrations)],
      ['as proctor', proctored > 0 ? linesOf(asProctor) : []],
      ['', notes],
      ['', isDryRun ? 'nothing was changed: this was a dry run' : []],
    ],
    13,
  )
}

function linesOf(recipients: Recipient[] | null): string[] {
  if (recipients === null) return ['not known']
  return recipients.length > 0 ? recipients.map(describeRecipient) : ['no integration']
}

function describeRow({ user }: Erasure, isDryRun: boolean): string {
  if (user === 'not there')
    return 'not in the data: only the id is kept, so that no import brings the person in'
  if (user === 'removed') return isDryRun ? 'would be removed' : 'removed'
  return `${isDryRun ? 'would stay' : 'stays'} as "Erased person", because assessments of others refer to it`
}

function jsonOf(
  userId: string,
  isDryRun: boolean,
  erasure: Erasure,
  { integrations, asProctor, until, notes }: Recipients,
): object {
  const { erasedBefore, assessments, parts, proctored, user } = erasure
  return {
    user_id: exactNumber(userId),
    erased: !isDryRun,
    dry_run: isDryRun,
    erased_before: erasedBefore,
    assessments,
    assessment_parts: parts,
    proctored,
    user: user.replaceAll(' ', '_'),
    shown_to: integrations,
    shown_as_proctor: asProctor,
    recorded_until: until,
    notes,
  }
}

/** "1 erased person left out". */
export const describeErased = (people: number): string =>
  `${people} erased ${people === 1 ? 'person' : 'people'} left out`
