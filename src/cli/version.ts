import { version } from '../../package.json'
import { MIGRATIONS } from '../database/migrations.ts'
import { newCommand } from './arguments.ts'
import { print, printJson } from './output.ts'

/** Set by scripts/build.ts; undefined when run from source. */
declare const AXPORT_COMMIT: string | undefined

/** The version and the commit; the commit is "" when run from source. */
export const BUILD = { version, commit: typeof AXPORT_COMMIT === 'string' ? AXPORT_COMMIT : '' }

/** "0.2.0 (abc1234)". */
export const VERSION = BUILD.commit ? `${version} (${BUILD.commit})` : version

/** axport version */
export const versionCommand = () =>
  newCommand('version', 'Print the version; with --json, the build too.', 'Example: axport version --json')
    .option('--json', 'print a JSON object: version, commit, version of Bun, latest migration')
    .action(async ({ json }) => {
      const schema = MIGRATIONS.at(-1)?.name
      if (json) await printJson({ version, commit: BUILD.commit || null, bun: Bun.version, schema })
      else await print(`${VERSION}\n`)
    })
