import { inputFiles } from '../config.ts'
import { listTombstones, type Tombstone } from '../erasure/tombstones.ts'
import { exactJson, exactNumber } from '../integrations/exact-ids.ts'
import { OutputFile } from '../output-file.ts'
import { outputPath } from '../output-path.ts'
import { newCommand } from './arguments.ts'
import { counted, print, tableOf } from './output.ts'
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

Example: axport erasures --json --out erasures.json`,
  )
    .option('--out <file>', 'write to FILE, which is replaced when the list is complete')
    .option('--json', 'print a JSON array')
    .action(async ({ out, json }) => {
      const output = out === undefined ? undefined : outputPath(out, inputFiles())
      const tombstones = await withDatabase(({ sql }) => listTombstones(sql))
      const list = json ? jsonOf(tombstones) : textOf(tombstones)
      if (output === undefined) return await print(list)
      using file = new OutputFile(output)
      file.write(Buffer.from(list))
      await file.publish()
      await print(`wrote ${counted(tombstones.length, 'tombstone')} to ${out}\n`)
    })

const jsonOf = (tombstones: Tombstone[]): string =>
  `${exactJson(tombstones.map(({ user_id, ...others }) => ({ user_id: exactNumber(user_id), ...others })))}\n`

function textOf(tombstones: Tombstone[]): string {
  if (tombstones.length === 0) return 'Nobody was erased.\n'
  return tableOf(
    ['user id', 'erased at', 'role'],
    tombstones.map(({ user_id, erased_at, role }) => [user_id, erased_at, role]),
  )
}
