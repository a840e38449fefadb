import { Option } from 'commander'
import { UsageFailure } from '../../errors.ts'

/**
 * What somebody says of an integration, without the blanks around it.
 * @param what as "name"
 * @throws UsageFailure for a text that is blank, too long, or no line
 */
export function lineOf(what: string, text: string): string {
  const line = text.trim()
  if (line === '') throw new UsageFailure(`the ${what} of an integration must not be blank`)
  if ([...line].length > 500)
    throw new UsageFailure(`the ${what} of an integration may have 500 characters at most`)
  // A line break or an escape sequence would spoil every list that shows it.
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(line))
    throw new UsageFailure(`the ${what} of an integration must not have line breaks or control characters`)
  return line
}

/** The options that say why an integration may read what it reads. */
export const purposeOption = () =>
  new Option(
    '--purpose <text>',
    'what it is for, as "Recertification in the district\'s HR system"',
  ).argParser(text => lineOf('purpose', text))
export const contactOption = () =>
  new Option('--contact <text>', 'whom to ask about it, as "hr@lakeside.example"').argParser(text =>
    lineOf('contact', text),
  )
