import { Command } from 'commander'
import { describeSettings } from '../config.ts'
import { print, printTable } from './output.ts'

/** axport config */
export function configCommand(): Command {
  return new Command('config')
    .description(
      'Print every setting: its value (secrets masked), where it comes from, its default and meaning.',
    )
    .option('--json', 'print a JSON array')
    .addHelpText('after', '\nSettings come from the environment only.\n\nExample: PORT=8080 axport config')
    .action(async ({ json }: { json?: true }) => {
      const settings = describeSettings()
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
