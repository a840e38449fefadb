import { describeSettings } from '../config.ts'
import { newCommand } from './arguments.ts'
import { printJson, printTable } from './output.ts'
import { requireSettings } from './setting-problems.ts'

/** axport config */
export const configCommand = () =>
  newCommand(
    'config',
    'Print every setting with value, source, default and meaning. Secrets are masked.',
    `Settings come from the environment. Exit code 1 if a setting is invalid.

Example: LOG_LEVEL=warn axport config`,
  )
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const settings = describeSettings()
      if (json) await printJson(settings)
      else
        await printTable(
          ['setting', 'value', 'from', 'default', 'meaning'],
          settings.map(({ name, problem, value, source, default: fallback, meaning }) => {
            const shown = problem ? `(${problem})` : (value ?? '(not set)')
            return [name, shown, source, fallback ?? '-', meaning]
          }),
        )
      requireSettings()
    })
