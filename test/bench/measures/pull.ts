import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import { LIST } from '../service.ts'
import { type Measure, onStage, type Stage } from '../stage.ts'
import type { World } from '../world.ts'
import { walkPaths } from './export.ts'

/** What the counting client has to walk. */
export interface CountJob {
  /** Of the list. */
  url: string
  headers: Record<string, string>
}

/**
 * `axport pull` of everything into NDJSON, beside a bare loop of a client that parses each page and counts its
 * records, and beside one that does not even look at them. Each on a service that remembers nothing, and without
 * compression, as pull asks a service on its own machine.
 */
export const pulling: Measure = {
  name: 'pull',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count, bytes } = await sizeOf(world.sql, scope)
    const peaks: number[] = []
    const onFresh = (work: (stage: Stage) => Promise<number>) => () => onStage(world, scope, work)
    const { pulled, counted, read } = await inTurns(world.options.rounds, {
      pulled: onFresh(async stage => {
        const { seconds, peak } = await pull(world, stage, bytes + count)
        peaks.push(peak)
        return seconds
      }),
      counted: onFresh(stage => countOnce(stage, count)),
      read: onFresh(async ({ load }) => (await load({ paths: walkPaths(count), connections: 1 })).seconds),
    })
    const measure = `pull of ${count.toLocaleString('en-US')} into NDJSON`
    return [
      {
        measure: `${measure} ÷ a loop that counts`,
        ...compared(pulled, counted),
        unit: 's',
        beside: 'counting',
        reach: { of: 'ratio', atMost: 1.3 },
      },
      { measure: `${measure} ÷ bytes read alone`, ...compared(pulled, read), unit: 's', beside: 'reading' },
      {
        measure: 'process memory at most, pull',
        figure: Math.max(...peaks),
        unit: 'MB',
        reach: { of: 'value', atMost: 200 },
      },
    ]
  },
}

/** Pulls into a file, which must be as long as the documents and their line ends. */
async function pull(
  { executable, folder }: World,
  { service, credentials }: Stage,
  bytes: number,
): Promise<{ seconds: number; peak: number }> {
  const out = join(folder, 'pulled.ndjson')
  const start = performance.now()
  const args = ['--base-url', service.url, '--client-id', credentials.client_id, '--out', out]
  const child = Bun.spawn([executable, 'pull', ...args], {
    env: { AXPORT_CLIENT_SECRET: credentials.client_secret },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const complaint = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`axport pull failed: ${complaint.trim()}`)
  const seconds = (performance.now() - start) / 1000
  const { size } = Bun.file(out)
  if (size !== bytes) throw new Error(`the pull has ${size} bytes instead of ${bytes}`)
  rmSync(out)
  return { seconds, peak: (child.resourceUsage()?.maxRSS ?? Number.NaN) / 1024 / 1024 }
}

/** Seconds of the counting client, from its start to its end. */
async function countOnce({ service, headers }: Stage, count: number): Promise<number> {
  const job: CountJob = { url: service.url + LIST, headers: { ...headers, 'accept-encoding': 'identity' } }
  const start = performance.now()
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '..', 'count.ts')], {
    stdin: new Blob([JSON.stringify(job)]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [counted, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(`counting failed: ${complaint.trim()}`)
  if (Number(counted) !== count) throw new Error(`${counted} records were counted, of ${count}`)
  return (performance.now() - start) / 1000
}
