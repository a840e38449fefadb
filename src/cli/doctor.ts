import { describeError } from '../database/describe-error.ts'
import { examine } from '../doctor/checks.ts'
import { type Finding, wrong } from '../doctor/finding.ts'
import { Failure } from '../errors.ts'
import { newCommand } from './arguments.ts'
import { counted, printJson, printTable } from './output.ts'
import { canStandbyServe } from './standby.ts'
import { withAnySchema } from './with-database.ts'

/** axport doctor */
export const doctorCommand = () =>
  newCommand(
    'doctor',
    'Check database, schema, data and integrations. Exit code 1 if something is wrong.',
    'Example: axport doctor --full',
  )
    .option('--full', 'compare every record with its source, not a sample of 1,000')
    .option('--json', 'print a JSON array')
    .action(async ({ full = false, json }) => {
      const findings = await diagnose({ isFull: full })
      const rows = findings.map(({ check, status, detail }) => [check, status, detail])
      await (json ? printJson(findings) : printTable(['check', 'status', 'detail'], rows))
      const failed = findings.filter(({ status }) => status === 'wrong').length
      if (failed > 0) throw new Failure(`${counted(failed, 'check')} found something wrong`)
    })

/** Runs the checks of doctor, the first of which is whether the database can be reached. */
export async function diagnose(options: Parameters<typeof examine>[1]): Promise<Finding[]> {
  try {
    return await withAnySchema(async ({ sql }) => {
      const findings = await examine(sql, options)
      if (findings.some(({ status }) => status === 'wrong')) return findings
      const outcomes = await canStandbyServe(sql)
      return [...findings, ...outcomes.map(outcome => ({ check: 'server', ...outcome }))]
    })
  } catch (error) {
    return [{ check: 'server', ...wrong(describeError(error)) }]
  }
}
