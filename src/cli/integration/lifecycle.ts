import type { Sql } from 'postgres'
import { type Credentials, rotateSecret, undoRotation } from '../../integrations/credentials.ts'
import { deleteIntegration, nameOf, setDisabled } from '../../integrations/lifecycle.ts'
import { given, newCommand, readDuration } from '../arguments.ts'
import { changeAndReport, type Doubt, oneChange } from '../changing.ts'
import { confirm, requireTerminal } from '../confirm.ts'
import { escaped, print, printJson } from '../output.ts'
import { byOption, inNameOf } from './by.ts'

/** axport integration rotate ID */
export const rotateCommand = () =>
  newCommand(
    'rotate',
    'Replace the secret. The old one and its tokens end at once, or after --grace.',
    `Without downtime: rotate with --grace, give the new secret to the integration, and wait until "last
used" of the old secret in axport integration show no longer changes.

Example: axport integration rotate BD77VoKUovcSbaUgYJQxPiOm --grace 24h`,
  )
    .argument('<id>', 'its client id')
    .option('--grace <duration>', 'keep the old secret and its tokens valid for so long: 24h', readDuration)
    .option('--force', 'rotate even while the grace of an earlier rotation lasts')
    .addOption(byOption())
    .option('--json', 'print a JSON object')
    .action(async (id, { grace, force, by, json }) => {
      await changeAndReport(
        oneChange('the secret was replaced', 'the secret was not replaced', shownBy(id)),
        sql => rotateSecret(inNameOf(sql, by), id, given({ graceSeconds: grace, force })),
        async (rotated, doubt) => {
          const end = rotated.oldSecretExpiresAt
          await printCredentials(rotated, json, doubt, { old_secret_expires_at: end })
          const state = end ? `work until ${end}` : 'have ended'
          if (!json && !doubt) process.stderr.write(`The old secret and its tokens ${state}.\n`)
        },
        {
          undo: {
            run: (sql, rotated) => undoRotation(sql, rotated),
            undone: 'the secrets are as they were before',
            otherwise: () => `axport integration rotate ${id} --force makes another one`,
          },
        },
      )
    })

/** What shows whether an integration was changed. */
export const shownBy = (id: string) => `axport integration show ${id} shows it`

/**
 * Prints new credentials, also in doubt: the secret may be stored, and cannot be printed again.
 * @param more is added to the JSON object
 */
export async function printCredentials(
  { clientId, clientSecret }: Credentials,
  asJson: true | undefined,
  doubt: Doubt | undefined,
  more: object = {},
): Promise<void> {
  if (asJson) return await printJson({ client_id: clientId, client_secret: clientSecret, ...more, ...doubt })
  await print(`client_id      ${clientId}\nclient_secret  ${clientSecret}\n`)
  const condition = doubt ? ' It works if it was stored.' : ''
  process.stderr.write(`Keep the secret now: it is not shown again.${condition}\n`)
}

const STATES = {
  disable: ['disabled', 'Refuse all requests of an integration, live tokens included, until it is enabled.'],
  enable: ['enabled', 'Accept the requests of a disabled integration again.'],
} as const

/** axport integration disable ID, axport integration enable ID */
export function stateCommand(name: keyof typeof STATES) {
  const [state, description] = STATES[name]
  return newCommand(name, description, `Example: axport integration ${name} BD77VoKUovcSbaUgYJQxPiOm`)
    .argument('<id>', 'its client id')
    .addOption(byOption())
    .option('--json', 'print a JSON object')
    .action((id, { by, json }) =>
      changeAndReport(
        oneChange(`the integration was ${state}`, 'nothing was changed', shownBy(id)),
        sql => setDisabled(inNameOf(sql, by), id, name === 'disable'),
        async (changed, doubt) => {
          if (json) await printJson({ client_id: id, state, changed, ...doubt })
          else if (!doubt) await print(`${id} is ${state} ${changed ? 'now' : 'already'}\n`)
        },
        { doneOf: changed => `the integration ${changed ? 'was' : 'is already'} ${state}` },
      ),
    )
}

/** axport integration delete ID */
export const deleteCommand = () =>
  newCommand(
    'delete',
    'Delete an integration, its secrets and its tokens. Cannot be undone; disable can.',
    `axport integration history keeps the history of deleted integrations.

Example: axport integration delete BD77VoKUovcSbaUgYJQxPiOm`,
  )
    .argument('<id>', 'its client id')
    .option('--yes', 'do not ask for the client id to confirm; required without a terminal')
    .addOption(byOption())
    .action(async (id, { yes, by }) => {
      if (!yes) requireTerminal(`axport integration delete ${id}`)
      await changeAndReport(
        oneChange('the integration was deleted', 'nothing was deleted', 'axport integration list shows it'),
        async sql => {
          if (!yes) await confirmDeletion(sql, id)
          return await deleteIntegration(inNameOf(sql, by), id)
        },
        async (name, doubt) => {
          if (!doubt) await print(`deleted ${escaped(name)} (${id})\n`)
        },
      )
    })

async function confirmDeletion(sql: Sql, id: string): Promise<void> {
  const name = escaped(await nameOf(sql, id))
  await confirm(
    `${name} is deleted for good with its secrets and tokens.\nType its client id again: `,
    id,
    'that is another client id: nothing was deleted',
  )
}
