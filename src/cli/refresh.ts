import type { Database } from '../database/database.ts'
import { Failure } from '../errors.ts'
import { type Refreshed, refresh } from '../tables/refresh.ts'
import { newCommand } from './arguments.ts'
import { changing, settled, severalChanges } from './changing.ts'
import { fieldLines, print, printJson, StatusLine } from './output.ts'
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
          if (json) await printJson({ committed: null })
          throw failure
        }
        const { unwiped, ...refreshed } = result
        await (json ? printJson(refreshed) : printRefreshed(refreshed))
        if (unwiped !== undefined)
          throw new Failure(
            `all was refreshed, and the files of the tables still have what was deleted: VACUUM failed (${unwiped}); axport refresh tries again`,
          )
      }
      await changing(severalChanges('nothing was changed'), interruption =>
        withCurrentSchema(run, interruption),
      )
    })

const printRefreshed = ({ records, people, products, erased }: Omit<Refreshed, 'unwiped'>) =>
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
