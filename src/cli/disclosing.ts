import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { Sql } from 'postgres'
import { databaseUrl, setting } from '../config.ts'
import { openDatabase } from '../database/database.ts'
import type { CommandSql } from '../database/transact.ts'
import { Failure } from '../errors.ts'
import { describeDisclosing, forgotten, readDisclosing, setDisclosing } from '../tables/disclosing.ts'
import { within } from '../within.ts'
import { given, oneOf } from './arguments.ts'
import { confirm, requireTerminal } from './confirm.ts'
import { counted } from './output.ts'

/** The options of axport migrate about the record. */
export const disclosuresOption = () =>
  new Option(
    '--disclosures <on|off>',
    'whether to record whose records each answer sends to whom (a new database has off)',
  ).argParser(oneOf('on', 'off'))
export const keepOption = () =>
  new Option(
    '--disclosures-keep <duration>',
    'how long to keep them: 400d, or forever (a new database has 400d)',
  ).argParser(readKept)

/** How long disclosures are kept: "400d" as "400 days", or "forever". Commander would turn null into "". */
function readKept(text: string): string {
  if (text.trim().toLowerCase() === 'forever') return 'forever'
  const [, days] = /^(\d{1,5})d$/.exec(text.trim()) ?? []
  if (!(Number(days) > 0)) throw new InvalidArgumentError('Give a number of days, as 400d, or forever.')
  return `${Number(days)} days`
}

/**
 * Asks before a shorter retention lets the services delete disclosures, now or later.
 * @param keep as keepOption() reads it
 * @throws UsageFailure without a terminal. @throws Failure for another answer
 */
export async function confirmRetention(sql: Sql, keep: string): Promise<void> {
  if (keep === 'forever') return
  const { now, oldest } = await forgotten(sql, keep)
  if (oldest === null) return
  const typed = keep.replace(' days', 'd')
  const what =
    `--disclosures-keep ${typed} lets the services delete ${counted(now, 'disclosure')} within a minute, and the others ` +
    `as they grow older; the oldest one is of ${oldest}`
  requireTerminal('the same command with', what)
  await confirm(
    `${what}. This cannot be undone.\nType ${typed} again: `,
    typed,
    'that is something else: nothing was changed',
  )
}

/** Switches the recording for axport migrate, whose `--json` prints the result; `kept` is null for ever. */
export async function switchDisclosing(
  sql: CommandSql,
  on: 'on' | 'off' | undefined,
  keep: string | undefined,
  say: (line: string) => Promise<void>,
) {
  const wanted = given({ isOn: on && on === 'on', kept: keep === 'forever' ? null : keep })
  const { changed, ...state } = await setDisclosing(sql, wanted)
  const words = describeDisclosing(state)
  await say(changed ? `disclosures are now ${words}` : `disclosures are ${words} already`)
  return { on: state.isOn, kept: state.kept, changed }
}

/** axport config must answer without a database too. */
const DATABASE_TIMEOUT_MS = 2000

/** The setting of disclosures, the only one that the database stores, for axport config; [] without a valid DATABASE_URL. */
export async function describeDisclosureSetting() {
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
