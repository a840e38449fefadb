import { requireAddress } from '../app/address.ts'
import { describeEnd } from '../app/tls.ts'
import { databaseUrl, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { diagnose } from './doctor.ts'
import { print } from './output.ts'
import { readTls } from './service.ts'
import { requireSettings } from './setting-problems.ts'

/**
 * Reads the settings and runs the checks of doctor that concern serving. The ports may be in use by the service that
 * runs.
 * @throws Failure for what is wrong
 */
export async function checkServing(): Promise<void> {
  requireSettings(databaseUrl)
  requireAddress({ host: setting('HOST'), port: setting('PORT') })
  const port = setting('ADMIN_PORT')
  if (port !== undefined) requireAddress({ host: setting('ADMIN_HOST'), port, prefix: 'ADMIN_' })
  const findings = await diagnose({ isServing: true })
  const wrong = findings.filter(({ status }) => status === 'wrong')
  if (wrong.length > 0) throw new Failure(wrong.map(({ check, detail }) => `${check}: ${detail}`).join('; '))
  for (const { check, status, detail } of findings)
    if (status !== 'ok') await print(`${check}: ${status}: ${detail}\n`)
  const certificate = readTls()
  const end = certificate && describeEnd(certificate)
  if (end !== undefined) await print(`certificate: warning: it ${end}\n`)
  await print('serve can start: settings, database, schema and privileges are as it needs them\n')
}
