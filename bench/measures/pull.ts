import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { LIST } from '../../test/support/http.ts'
import { type Measure, type MeasuredService, withService } from '../measured-service.ts'
import { runProgram } from '../program.ts'
import { compared, inTurns } from '../rounds.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import type { World } from '../world.ts'

/** The job of the counting client. */
export interface CountJob {
  /** The URL of the list. */
  url: string
  headers: Record<string, string>
}

/**
 * `axport pull` of all records into NDJSON, compared with a minimal client that parses each page and counts its
 * records. Both use a service with empty page memory, without compression, as pull does for a service on the same
 * machine.
 */
export const pulling: Measure = {
  name: 'pull',
  async run(world) {
    const scope = await broadScope(world.sql)
    const { count, bytes } = await sizeOf(world.sql, scope)
    const peaks: number[] = []
    const withEmptyMemory = (work: (measured: MeasuredService) => Promise<number>) => () =>
      withService(world, scope, work)
    const { pulled, counted } = await inTurns(world.options.rounds, {
      pulled: withEmptyMemory(async measured => {
        const { seconds, peak } = await pull(world, measured, bytes + count)
        peaks.push(peak)
        return seconds
      }),
      counted: withEmptyMemory(measured => countOnce(measured, count)),
    })
    return [
      {
        measure: `pull of ${count.toLocaleString('en-US')} into NDJSON ÷ a client that counts`,
        ...compared(pulled, counted),
        unit: 's',
        beside: 'counting',
        reach: { of: 'ratio', atMost: 1.3 },
      },
      {
        measure: 'peak memory of the process, pull',
        figure: Math.max(...peaks),
        unit: 'MB',
        reach: { of: 'value', atMost: 200 },
      },
    ]
  },
}

/** Pulls into a file. Throws unless the file has the length of all documents with line ends. */
async function pull({ executable, folder }: World, { service, credentials }: MeasuredService, bytes: number) {
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
async function countOnce({ service, headers }: MeasuredService, count: number): Promise<number> {
  const job: CountJob = { url: service.url + LIST, headers: { ...headers, 'accept-encoding': 'identity' } }
  const command = [process.execPath, join(import.meta.dir, '..', 'count.ts')]
  const { stdout, seconds } = await runProgram(command, { stdin: JSON.stringify(job) })
  if (Number(stdout) !== count) throw new Error(`${stdout} records were counted, of ${count}`)
  return seconds
}
