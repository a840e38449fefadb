import type { Credentials } from '../../integrations/create.ts'
import { print } from '../output.ts'

/** Prints new credentials, the only time that the secret can be. `more` is added to the JSON object. */
export async function printCredentials(
  { clientId, clientSecret }: Credentials,
  asJson: true | undefined,
  more: object = {},
): Promise<void> {
  if (asJson) {
    await print(`${JSON.stringify({ client_id: clientId, client_secret: clientSecret, ...more })}\n`)
    return
  }
  await print(`client_id      ${clientId}\nclient_secret  ${clientSecret}\n`)
  process.stderr.write('Keep the secret now: it is not shown again.\n')
}
