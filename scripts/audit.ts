import { print, runStep } from './step.ts'

/** The findings of `bun audit --json`: lines with package, severity and advisory. */
interface Audit {
  /** Moderate or worse. */
  grave: string[]
  minor: string[]
}

/**
 * Reads the output of `bun audit --json`: the registry's unchanged answer, with a list of advisories by package.
 * Returns null for any other output: some registries do not audit, and the network may be down.
 */
export function readAudit(stdout: string): Audit | null {
  const advisories = parse(stdout)
  if (!advisories) return null
  const audit: Audit = { grave: [], minor: [] }
  for (const [name, found] of Object.entries(advisories)) {
    for (const { severity, title, url } of found) {
      // An unknown severity counts as grave.
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
 * Requests the known vulnerabilities of the dependencies from the registry, and prints the answer. Returns false if any
 * is grave, and true if the registry does not audit or does not answer within 30 s.
 */
export async function auditDependencies(root: string): Promise<boolean> {
  const { seconds, stdout, stderr } = await runStep('audit', [process.execPath, 'audit', '--json'], {
    cwd: root,
    timeout: 30_000,
  })
  const audit = readAudit(stdout)
  if (!audit) {
    console.log(`audit NOT DONE, the registry did not answer: ${stderr.trim() || 'no answer within 30 s'}`)
    return true
  }
  const ok = audit.grave.length === 0
  print({ name: `audit, ${audit.minor.length} minor`, ok, seconds, stdout: '', stderr: '' })
  for (const line of [...audit.grave, ...audit.minor]) console.log(line)
  return ok
}
