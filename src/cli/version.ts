import { Command } from 'commander'
import { version } from '../../package.json'
import { MIGRATIONS } from '../postgres/schema/migrations.ts'
import { print } from './output.ts'

/** Set at build; absent when run from source. */
declare const AXPORT_COMMIT: string | undefined

const COMMIT = typeof AXPORT_COMMIT === 'string' ? AXPORT_COMMIT : ''

/** What was built; without a commit when run from source. */
export const BUILD = { version, commit: COMMIT }

/** "0.1.0 (abc1234)". */
export const VERSION = COMMIT ? `${version} (${COMMIT})` : version

/** axport version */
export function versionCommand(): Command {
  return new Command('version')
    .description('Print the version; with --json, the build too.')
    .option('--json', 'print one JSON object: version, commit, Bun, and the schema it needs')
    .addHelpText('after', '\nExample: axport version --json')
    .action(async ({ json }: { json?: true }) => {
      const schema = MIGRATIONS.at(-1)?.name
      await print(
        json
          ? `${JSON.stringify({ version, commit: COMMIT || null, bun: Bun.version, schema })}\n`
          : `${VERSION}\n`,
      )
    })
}
