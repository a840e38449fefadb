import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { emptyDatabase } from '../../support/cluster.ts'
import { codeUnder, SYNC } from '../../support/document.ts'
import { emptyFolder, ended, executable, launch } from '../../support/executable.ts'

/** How a night ended. */
export interface Night {
  code: number
  stderr: string
}

/** A program that reads everything each night and keeps a copy, as an integration with a client id. */
export interface CopyKeeper {
  /** Where its files are. */
  folder: string
  /** Brings the copy up to date. It gives up after a few seconds without an answer. `options` are those of allow() */
  night(secret: string, options?: string[]): Promise<Night>
  /** The records of the copy, by id. */
  copy(): Promise<{ id: number }[]>
  /** For one that limits removals: from the error of a night, the options with which the next one may remove so many. */
  allow?(stderr: string): string[]
  close(): Promise<void>
}

/** Starts one with an empty copy. */
export type StartKeeper = (service: { baseUrl: string; clientId: string }) => Promise<CopyKeeper>

/** The script of docs/integrate/sync.md, with axport pull and a copy in Postgres. */
export async function startNightlyScript({
  baseUrl,
  clientId,
}: {
  baseUrl: string
  clientId: string
}): Promise<CopyKeeper & { failAt(program?: 'psql' | 'rm' | 'mv'): void }> {
  const folder = emptyFolder()
  const database = await emptyDatabase()
  const sql = postgres(database.url, { max: 1, onnotice: () => {} })
  const [script = ''] = codeUnder('The script', 'sh', SYNC)
  const [apply = ''] = codeUnder('The script', 'sql', SYNC)
  const [, table = ''] = /^psql copy -c '(create table .*)'$/m.exec(SYNC) ?? []
  await sql.unsafe(table)
  writeFileSync(join(folder, 'nightly.sh'), script)
  writeFileSync(join(folder, 'apply.sql'), apply)
  const bin = join(emptyFolder(), 'bin')
  mkdirSync(bin)
  symlinkSync(await executable(), join(bin, 'axport'))
  let isFirst = true
  let failing = ''
  for (const name of ['psql', 'rm', 'mv']) {
    const wrapper = `#!/bin/sh\n[ "$FAIL_AT" != ${name} ] && exec ${Bun.which(name)} "$@"\nexit 9\n`
    writeFileSync(join(bin, name), wrapper)
    chmodSync(join(bin, name), 0o755)
  }
  return {
    folder,
    async night(secret, options = []) {
      const first = isFirst ? ['--previous', '/dev/null'] : []
      const patience = ['--retry-for', '2s', '--timeout', '2s']
      const env = {
        PATH: `${bin}:/usr/bin:/bin`,
        HOME: folder,
        FAIL_AT: failing,
        AXPORT_URL: baseUrl,
        AXPORT_CLIENT_ID: clientId,
        COPY_URL: database.url,
      }
      writeFileSync(join(folder, 'secret'), `${secret}\n`)
      const command = ['/bin/sh', 'nightly.sh', ...first, ...patience, ...options]
      const { code, stderr } = await ended(launch(command, { env, cwd: folder }), {})
      if (code === 0) isFirst = false
      return { code, stderr }
    },
    async copy() {
      const rows = await sql<{ record: { id: number } }[]>`select record from assessments order by id`
      return rows.map(({ record }) => record)
    },
    allow(stderr) {
      const [option = ''] = /--max-removed \d+/.exec(stderr) ?? []
      return option.split(' ')
    },
    failAt(program) {
      failing = program ?? ''
    },
    async close() {
      await sql.end({ timeout: 1 })
      await database.drop()
    },
  }
}

const SAMPLE = join(import.meta.dir, '../../../docs/integrate/examples/every_page.py')

/** The Python module of docs/integrate/examples, whose file is the copy. */
export async function startPythonSample({
  baseUrl,
  clientId,
}: {
  baseUrl: string
  clientId: string
}): Promise<CopyKeeper> {
  const folder = emptyFolder()
  const file = join(folder, 'educators.ndjson')
  return {
    folder,
    async night(secret) {
      const env = {
        PATH: process.env.PATH ?? '',
        AXPORT_URL: baseUrl,
        AXPORT_CLIENT_ID: clientId,
        AXPORT_CLIENT_SECRET: secret,
        AXPORT_TIMEOUT: '2',
        AXPORT_RETRY_FOR: '2',
      }
      const { code, stderr } = await ended(launch(['python3', SAMPLE, file], { env, cwd: folder }), {})
      return { code, stderr }
    },
    async copy() {
      if (!existsSync(file)) return []
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
      return lines.map(line => JSON.parse(line) as { id: number }).sort((one, other) => one.id - other.id)
    },
    async close() {},
  }
}
