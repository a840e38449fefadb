import type { Database } from '../database/database.ts'
import { Failure } from '../errors.ts'
import { type Refreshed, refresh } from '../tables/refresh.ts'
import { newCommand } from './arguments.ts'
import { changing, settled, severalChanges } from './changing.ts'
import { fieldLines, print, printJson, reportOf, StatusLine } from './output.ts'
import { withCurrentSchema } from './with-database.ts'

/** axport refresh */
export const refreshCommand = () =>
  newCommand(
    'refresh',
    'Make the export equal to the source tables, and remove erased people from them.',
    `Needed only after a write to the source tables without their triggers: by logical replication, with
session_replication_role = replica, or by pg_restore --disable-triggers; and after a restore, see
docs/operate/backup.md. Running services go on, and count their lists again.

Example: axport refresh`,
  )
    .option('--json', 'print a JSON object')
    .action(async ({ json }) => {
      const run = async ({ sql }: Database) => {
        using status = new StatusLine()
        const onBatch = (ids: number) => status.show(() => `compared ${ids} rows`)
        const { result, failure } = await settled(refresh(sql, onBatch))
        status.clear()
        if (failure) {
          if (json) await printJson({ committed: null }).catch(() => {})
          throw failure
        }
        const { vacuumFailure, ...refreshed } = result
        const rest =
          vacuumFailure === undefined
            ? ''
            : `, and the files of the tables still have what was deleted: VACUUM failed (${vacuumFailure}); axport refresh as the owner of the tables tries again`
        await reportOf(`all was refreshed${rest}`, json ? printJson(refreshed) : printRefreshed(refreshed))
        if (rest !== '') throw new Failure(`all was refreshed${rest}`)
      }
      await changing(severalChanges('nothing was changed'), interruption =>
        withCurrentSchema(run, interruption),
      )
    })

const printRefreshed = ({ records, people, products, erased }: Omit<Refreshed, 'vacuumFailure'>) =>
  print(
    fieldLines(
      [
        ['records', `${records} corrected`],
        ['names of people', `${people} corrected`],
        ['names of products', `${products} corrected`],
        ['erased people', `${erased} removed from the source tables`],
      ],
      19,
    ),
  )
