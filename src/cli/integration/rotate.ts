import { Command } from 'commander'
import { type Rotated, rotateSecret } from '../../integrations/rotate.ts'
import { readDuration } from '../arguments.ts'
import { printCredentials } from './credentials.ts'
import { changing, waitOption } from './standbys.ts'

interface Options {
  grace?: number
  force?: true
  json?: true
  wait: number
}

/** axport integration rotate ID */
export function rotateCommand(): Command {
  return new Command('rotate')
    .description('Replace the secret. The old one and its tokens end at once, or after a grace.')
    .argument('<id>', 'its client id')
    .option(
      '--grace <duration>',
      'keep the old secret and its tokens alive for so long, as 24h',
      readDuration,
    )
    .option('--force', 'rotate even while the grace of an earlier rotation runs')
    .addOption(waitOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Without downtime: rotate with a grace, give the integration the new secret, and watch "last used"
of the old one in axport integration show.

Example: axport integration rotate BD77VoKUovcSbaUgYJQxPiOm --grace 24h`,
    )
    .action(async (id: string, { grace, force, json, wait }: Options) => {
      const options = { ...(grace !== undefined && { graceSeconds: grace }), force: force === true }
      await changing(
        wait,
        sql => rotateSecret(sql, id, options),
        rotated => tell(rotated, json),
      )
    })
}

async function tell(rotated: Rotated, asJson: true | undefined): Promise<void> {
  await printCredentials(rotated, asJson, { old_secret_ends_at: rotated.oldSecretEndsAt })
  if (asJson) return
  const end = rotated.oldSecretEndsAt
  process.stderr.write(
    end
      ? `The old secret and its tokens work until ${end}.\n`
      : 'The old secret and its tokens have ended.\n',
  )
}
