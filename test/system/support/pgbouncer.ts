import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
export async function startPgBouncer(url: string, mode: 'session' | 'transaction', size: number) {
  const server = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'axport-pgbouncer-'))
  const port = await freePort()
  const config = join(folder, 'pgbouncer.ini')
  writeFileSync(
    config,
    `[databases]
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
  // PgBouncer ends when this process ends or is killed.
  const command = [
    'setpriv',
    '--pdeathsig=TERM',
    ...(process.getuid?.() === 0 ? NOBODY : []),
    PGBOUNCER.name,
    config,
  ]
  for (const path of [folder, config]) chmodSync(path, 0o755)
  const running = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  await canConnect(port)
  server.host = `127.0.0.1:${port}`
  const stop = async () => {
    running.kill()
    await running.exited
    rmSync(folder, { recursive: true })
  }
  return { url: server.href, stop }
}
