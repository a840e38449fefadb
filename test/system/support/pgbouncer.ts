import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeUnder, pageOf } from '../../support/document.ts'
import { freePort } from '../../support/free-port.ts'
import { program } from '../../support/requires.ts'
import { canConnect } from './connect.ts'

/** PgBouncer from its Debian package. */
export const PGBOUNCER = program('pgbouncer')

/** Arguments of setpriv that run PgBouncer as nobody: PgBouncer refuses to run as root. */
const NOBODY = ['--reuid=65534', '--regid=65534', '--clear-groups']

/**
 * Starts PgBouncer in front of the server of `url`, with `size` connections to it. `url` of the result leads to the
 * same database through PgBouncer.
 */
export function startPgBouncer(url: string, mode: 'session' | 'transaction', size: number) {
  const server = new URL(url)
  return run(
    server,
    port => `[databases]
* = host=${server.hostname} port=${server.port} user=${server.username} password=${decodeURIComponent(server.password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${size}
ignore_startup_parameters = extra_float_digits,plan_cache_mode,jit,statement_timeout
logfile =
`,
  )
}

/**
 * Starts PgBouncer with the file in docs/operate/database.md, but for its ports and the path of the users.
 * @param url the database `axport`, with a user whose password PgBouncer is to know
 * @param change changes the file
 */
export function startDocumentedPgBouncer(url: string, change = (text: string) => text) {
  const server = new URL(url)
  const [documented = ''] = codeUnder('Behind PgBouncer', 'ini', pageOf('database.md'))
  return run(server, (port, folder) => {
    const users = join(folder, 'userlist.txt')
    writeFileSync(users, `"${server.username}" "${decodeURIComponent(server.password)}"\n`)
    const parts: [string, string][] = [
      ['port=5432 ', `port=${server.port} `],
      ['listen_port = 6432', `listen_port = ${port}`],
      ['/etc/pgbouncer/userlist.txt', users],
    ]
    return parts.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`docs/operate/database.md has no ${from}`)
      return text.replace(from, to)
    }, change(documented))
  })
}

/** Runs PgBouncer with a file that is made for a port and a folder. */
async function run(server: URL, configuration: (port: number, folder: string) => string) {
  const folder = mkdtempSync(join(tmpdir(), 'axport-pgbouncer-'))
  const port = await freePort()
  const config = join(folder, 'pgbouncer.ini')
  writeFileSync(config, configuration(port, folder))
  // PgBouncer ends when this process ends or is killed.
  const command = [
    'setpriv',
    '--pdeathsig=TERM',
    ...(process.getuid?.() === 0 ? NOBODY : []),
    PGBOUNCER.name,
    config,
  ]
  chmodSync(folder, 0o755)
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644)
  const running = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  await canConnect(port)
  const url = Object.assign(new URL(server), { host: `127.0.0.1:${port}` }).href
  const stop = async () => {
    running.kill()
    await running.exited
    rmSync(folder, { recursive: true })
  }
  return { url, stop }
}
