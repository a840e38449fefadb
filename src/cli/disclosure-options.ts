import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { CommandSql } from '../database/transact.ts'
import { describeDisclosureState, setDisclosureState } from '../tables/disclosure-state.ts'
import { given, oneOf } from './arguments.ts'

/** The options of axport migrate about the record. */
export const disclosuresOption = () =>
  new Option(
    '--disclosures <on|off>',
    'whether to record whose records each answer sends to whom (a new database has off)',
  ).argParser(oneOf('on', 'off'))
export const keepOption = () =>
  new Option(
    '--disclosures-keep <duration>',
    'how long to keep them: 400d, or forever (a new database has 400d); services delete older ones at once',
  ).argParser(readKept)

/** How long disclosures are kept: "400d" as "400 days", or "forever". Commander would turn null into "". */
function readKept(text: string): string {
  if (text.trim().toLowerCase() === 'forever') return 'forever'
  const [, days] = /^(\d{1,5})d$/.exec(text.trim()) ?? []
  if (!(Number(days) > 0)) throw new InvalidArgumentError('Give a number of days, as 400d, or forever.')
  return `${Number(days)} days`
}

/** Switches the recording for axport migrate, whose `--json` prints the result; `kept` is null for ever. */
export async function switchDisclosures(
  sql: CommandSql,
  on: 'on' | 'off' | undefined,
  keep: string | undefined,
  say: (line: string) => Promise<void>,
) {
  const wanted = given({ isOn: on && on === 'on', kept: keep === 'forever' ? null : keep })
  const { changed, ...state } = await setDisclosureState(sql, wanted)
  const words = describeDisclosureState(state)
  await say(changed ? `disclosures are now ${words}` : `disclosures are ${words} already`)
  return { on: state.isOn, kept: state.kept, changed }
}
