import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { LIST } from '../../support/http.ts'
import { runProgram } from '../program.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import { type Measure, onStage, type Stage } from '../stage.ts'
import type { World } from '../world.ts'

/** What the counting client has to walk. */
export interface CountJob {
  /** Of the list. */
  url: string
  headers: Record<string, string>
}

/**
 * `axport pull` of everything into NDJSON, beside a bare loop of a client that parses each page and counts its
 * records. Both on a service that remembers nothing, without compression, as pull asks a service on its own machine.
 */
export const pulling: Measure = {
  name: 'pull',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count, bytes } = await sizeOf(world.sql, scope)
    const peaks: number[] = []
    const onFresh = (work: (stage: Stage) => Promise<number>) => () => onStage(world, scope, work)
    const { pulled, counted } = await inTurns(world.options.rounds, {
      pulled: onFresh(async stage => {
        const { seconds, peak } = await pull(world, stage, bytes + count)
        peaks.push(peak)
        return seconds
      }),
      counted: onFresh(stage => countOnce(stage, count)),
    })
    return [
      {
        measure: `pull of ${count.toLocaleString('en-US')} into NDJSON ÷ a loop that counts`,
        ...compared(pulled, counted),
        unit: 's',
        beside: 'counting',
        reach: { of: 'ratio', atMost: 1.3 },
      },
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
async function pull({ executable, folder }: World, { service, credentials }: Stage, bytes: number) {
  const out = join(folder, 'pulled.ndjson')
  const args = ['--base-url', service.url, '--client-id', credentials.client_id, '--out', out]
  const env = { AXPORT_CLIENT_SECRET: credentials.client_secret }
  const ended = await runProgram([executable, 'pull', ...args], { env })
  const { size } = Bun.file(out)
  if (size !== bytes) throw new Error(`the pull has ${size} bytes instead of ${bytes}`)
  rmSync(out)
  return ended
}

/** Seconds of the counting client, from its start to its end. */
async function countOnce({ service, headers }: Stage, count: number): Promise<number> {
  const job: CountJob = { url: service.url + LIST, headers: { ...headers, 'accept-encoding': 'identity' } }
  const command = [process.execPath, join(import.meta.dir, '..', 'count.ts')]
  const { stdout, seconds } = await runProgram(command, { stdin: JSON.stringify(job) })
  if (Number(stdout) !== count) throw new Error(`${stdout} records were counted, of ${count}`)
  return seconds
}
