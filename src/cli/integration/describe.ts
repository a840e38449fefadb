import { Command } from 'commander'
import { UsageFailure } from '../../errors.ts'
import { describeIntegration } from '../../integrations/lifecycle.ts'
import { escaped, print } from '../output.ts'
import { withDatabase } from '../with-database.ts'
import { contactOption, lineOf, purposeOption } from './text.ts'

/** `false` is the option that begins with "no". */
interface Options {
  name?: string
  purpose?: string | false
  contact?: string | false
  json?: true
}

/** axport integration describe ID */
export function describeCommand(): Command {
  return new Command('describe')
    .description('Change what is said of an integration: its name, what it is for, whom to ask.')
    .argument('<id>', 'its client id')
    .option('--name <text>', 'a name for people', text => lineOf('name', text))
    .addOption(purposeOption())
    .option('--no-purpose', 'it has no purpose that is known')
    .addOption(contactOption())
    .option('--no-contact', 'there is nobody to ask')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
What was said before stays in axport integration history, and with what was disclosed meanwhile.

Example: axport integration describe BD77VoKUovcSbaUgYJQxPiOm --purpose "Recertification"`,
    )
    .action(async (id: string, { name, purpose, contact, json }: Options) => {
      const changed = {
        ...(name !== undefined && { name }),
        ...(purpose !== undefined && { purpose: purpose || null }),
        ...(contact !== undefined && { contact: contact || null }),
      }
      if (Object.keys(changed).length === 0)
        throw new UsageFailure('say what to change: --name, --purpose or --contact')
      const now = await withDatabase(({ sql }) => describeIntegration(sql, id, changed))
      if (json) {
        await print(`${JSON.stringify({ client_id: id, ...now })}\n`)
        return
      }
      const lines = [now.name, now.purpose ?? 'none', now.contact ?? 'none']
      const labels = ['name', 'purpose', 'contact']
      await print(lines.map((line, at) => `${labels[at]?.padEnd(15)}${escaped(line)}\n`).join(''))
    })
}
