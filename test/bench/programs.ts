import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Sent, Session } from './tap.ts'

const INSTALLED = '/usr/lib/postgresql'

/** Where to get what is missing; undefined when all is there. */
export function missingPrograms(): string | undefined {
  const missing = (['pgbench', 'psql'] as const).filter(name => !program(name))
  if (missing.length === 0) return undefined
  return `${missing.join(' and ')} not found, so the limits are left out: apt-get install postgresql (Debian, Ubuntu) or brew install postgresql@18, and put its bin folder on PATH`
}

/** Why there is no limit. */
export const WITHOUT_PGBENCH = 'no limit: pgbench not found'
export const WITHOUT_PSQL = 'no limit: psql not found'

/** A program of Postgres' own, on PATH or where Debian puts it; undefined when there is none. */
function program(name: 'pgbench' | 'psql'): string | undefined {
  const onPath = Bun.which(name)
  if (onPath) return onPath
  let versions: string[] = []
  try {
    versions = readdirSync(INSTALLED).sort((a, b) => Number(b) - Number(a))
  } catch {
    // No such folder: not that system.
  }
  return versions.map(version => join(INSTALLED, version, 'bin', name)).find(path => Bun.which(path) !== null)
}

/**
 * What runs a statement over and over, prepared, with the values and the settings of the service's own
 * connections, and gives times a second; undefined without pgbench.
 * @param seconds whole ones, at least one: pgbench knows no others
 */
export function pgbench(
  url: string,
  { text, parameters, session }: Sent,
  { connections, seconds }: { connections: number; seconds: number },
): (() => Promise<number>) | undefined {
  const command = program('pgbench')
  if (!command) return undefined
  const definitions = parameters.flatMap((value, at) => (value === null ? [] : ['-D', `p${at + 1}=${value}`]))
  // pgbench has no null among its values.
  const script = text.replaceAll(/\$(\d+)/g, (_, at) => (parameters[at - 1] === null ? 'null' : `:p${at}`))
  const amount = ['-c', String(connections), '-j', '2', '-T', String(Math.max(1, Math.round(seconds)))]
  return async () => {
    const output = await run(
      [command, '-n', '-M', 'prepared', ...amount, ...definitions, '-f', '-', url],
      session,
      // A value is not seen where the script ends behind its name.
      `${script}\n`,
    )
    const perSecond = /tps = ([\d.]+)/.exec(output)?.[1]
    if (perSecond === undefined) throw new Error(`pgbench gives no rate: ${output}`)
    return Number(perSecond)
  }
}

/** What takes a raw COPY of what `select` gives, to nowhere, and gives its seconds; undefined without psql. */
export function copy(url: string, select: string): (() => Promise<number>) | undefined {
  const command = program('psql')
  if (!command) return undefined
  return async () => {
    const start = performance.now()
    await run([command, '-X', '-q', '-c', `copy (${select}) to stdout`, '-o', '/dev/null', url], {})
    return (performance.now() - start) / 1000
  }
}

async function run(command: string[], session: Session, stdin = ''): Promise<string> {
  const escaped = (value: string) => value.replaceAll(/[\\ ]/g, '\\$&')
  const options = Object.entries(session).map(([name, value]) => `-c ${name}=${escaped(value)}`)
  const child = Bun.spawn(command, {
    env: { ...process.env, PGOPTIONS: options.join(' ') },
    stdin: new Blob([stdin]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${stderr.trim()}`)
  return stdout
}
