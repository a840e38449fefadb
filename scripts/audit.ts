import { print, runStep } from './step.ts'

/** What `bun audit --json` found: lines that name package, severity and advisory. */
interface Audit {
  /** Moderate or worse. */
  grave: string[]
  minor: string[]
}

/**
 * Reads the output of `bun audit --json`, which is the registry's answer as it came: by package, a list of
 * advisories. Null when it is no such answer: there are registries that do not audit, and days without a network.
 */
export function readAudit(stdout: string): Audit | null {
  const advisories = parse(stdout)
  if (!advisories) return null
  const audit: Audit = { grave: [], minor: [] }
  for (const [name, found] of Object.entries(advisories)) {
    for (const { severity, title, url } of found) {
      // A word that nobody has used so far is no reason to go on.
      const list = severity === 'low' || severity === 'info' ? audit.minor : audit.grave
      list.push(`${name}: ${severity}: ${title} (${url})`)
    }
  }
  return audit
}

interface Advisory {
  severity: string
  title: string
  url: string
}

function parse(stdout: string): Record<string, Advisory[]> | undefined {
  try {
    const json: unknown = JSON.parse(stdout)
    const isAnswer = typeof json === 'object' && json !== null && Object.values(json).every(Array.isArray)
    return isAnswer && !Array.isArray(json) ? (json as Record<string, Advisory[]>) : undefined
  } catch {
    return undefined
  }
}

/**
 * Asks the registry for known vulnerabilities of the dependencies, and prints what the registry answered. False when
 * any is grave; a registry that does not audit, or that cannot be reached within 30 s, fails nothing.
 */
export async function auditDependencies(root: string): Promise<boolean> {
  const { seconds, stdout, stderr } = await runStep('audit', [process.execPath, 'audit', '--json'], {
    cwd: root,
    timeout: 30_000,
  })
  const audit = readAudit(stdout)
  if (!audit) {
    console.log(`audit NOT DONE, the registry did not answer: ${stderr.trim() || 'no word in 30 s'}`)
    return true
  }
  const ok = audit.grave.length === 0
  print({ name: `audit, ${audit.minor.length} minor`, ok, seconds, stdout: '', stderr: '' })
  for (const line of [...audit.grave, ...audit.minor]) console.log(line)
  return ok
}
