import { listTombstones } from '../erasure/tombstones.ts'
import { exactNumber } from '../integrations/exact-ids.ts'
import { newCommand } from './arguments.ts'
import { print, printJson, printTable } from './output.ts'
import { withDatabase } from './with-database.ts'

/** axport erasures */
export const erasuresCommand = () =>
  newCommand(
    'erasures',
    'List the erased people, whom imports leave out.',
    `Of each person there is a tombstone: the id, and when and by which role of the database the
person was erased. With --json it is the list by which a restored database forgets them: see
docs/operate/backup.md.
axport erase ID --remove-tombstone lets later imports bring the person back.

Example: axport erasures --json`,
  )
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const tombstones = await withDatabase(({ sql }) => listTombstones(sql))
      if (json)
        return await printJson(
          tombstones.map(({ user_id, ...others }) => ({ user_id: exactNumber(user_id), ...others })),
        )
      if (tombstones.length === 0) return await print('Nobody was erased.\n')
      await printTable(
        ['user id', 'erased at', 'role'],
        tombstones.map(({ user_id, erased_at, role }) => [user_id, erased_at, role]),
      )
    })
