import { createInterface } from 'node:readline'
import { Command } from 'commander'
import type { Sql } from 'postgres'
import { Failure, UsageFailure } from '../../errors.ts'
import { deleteIntegration, nameOf } from '../../integrations/lifecycle.ts'
import { escaped, print } from '../output.ts'
import { changing, waitOption } from './standbys.ts'

/** axport integration delete ID */
export function deleteCommand(): Command {
  return new Command('delete')
    .description('Delete an integration with its secrets and tokens; there is no way back, unlike disable.')
    .argument('<id>', 'its client id')
    .option('--yes', 'do not ask for the client id again; needed where nobody can be asked')
    .addOption(waitOption())
    .addHelpText(
      'after',
      `
axport integration history keeps what was done with it.

Example: axport integration delete BD77VoKUovcSbaUgYJQxPiOm`,
    )
    .action(async (id: string, { yes, wait }: { yes?: true; wait: number }) => {
      if (!yes && !isAnybodyThere()) {
        throw new UsageFailure(
          `nobody can be asked for the client id again here: axport integration delete ${id} --yes`,
        )
      }
      await changing(
        wait,
        async sql => {
          if (!yes) await askAgain(sql, id)
          return await deleteIntegration(sql, id)
        },
        name => print(`deleted ${escaped(name)} (${id})\n`),
      )
    })
}

const isAnybodyThere = () => process.stdin.isTTY === true && process.stderr.isTTY === true

/** @throws Failure where another id is typed, or none; nothing is deleted then */
async function askAgain(sql: Sql, id: string): Promise<void> {
  const name = await nameOf(sql, id)
  process.stderr.write(
    `${escaped(name)} is deleted with its secrets and tokens, for good.\nType its client id again: `,
  )
  const typed = await readLine()
  if (typed?.trim() !== id) throw new Failure('that is another client id: nothing was deleted')
}

/** A line of the terminal, which goes on to be read by nobody; undefined at its end. */
async function readLine(): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, terminal: false })
  try {
    return await new Promise(resolve => {
      lines.once('line', resolve)
      lines.once('close', () => resolve(undefined))
    })
  } finally {
    lines.close()
    process.stdin.unref()
  }
}
