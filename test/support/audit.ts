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
 * Asks the registry for known vulnerabilities of the dependencies, and says what it answered. False when any is
 * grave; a registry that does not audit, or that can not be reached, fails nothing.
 */
export function auditDependencies(root: string): boolean {
  console.log('\n== audit')
  const { stdout, stderr } = Bun.spawnSync([process.execPath, 'audit', '--json'], {
    cwd: root,
    timeout: 30_000,
  })
  const audit = readAudit(stdout.toString())
  if (!audit) {
    console.log(
      `-- audit: NOT DONE, the registry did not answer: ${stderr.toString().trim() || 'no word in 30 s'}`,
    )
    return true
  }
  for (const line of [...audit.grave, ...audit.minor]) console.log(line)
  console.log(`-- audit: ${audit.grave.length > 0 ? 'FAILED' : 'ok'}, ${audit.minor.length} minor`)
  return audit.grave.length === 0
}
