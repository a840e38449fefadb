import { describeSettings } from '../config.ts'
import { newCommand } from './arguments.ts'
import { describeDisclosureSetting } from './disclosing.ts'
import { printJson, printTable } from './output.ts'

/** axport config */
export const configCommand = () =>
  newCommand(
    'config',
    'Print every setting with value, source, default and meaning. Secrets are masked.',
    `Settings come from the environment only. If DATABASE_URL is set, the last line says whether the
database records disclosures.

Example: PORT=8080 axport config`,
  )
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const settings = [...describeSettings(), ...(await describeDisclosureSetting())]
      if (json) return await printJson(settings)
      await printTable(
        ['setting', 'value', 'from', 'default', 'meaning'],
        settings.map(({ name, problem, value, source, default: fallback, meaning }) => {
          const shown = problem ? `(${problem})` : (value ?? '(not set)')
          return [name, shown, source, fallback ?? '-', meaning]
        }),
      )
    })
