import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../../package.json'
import { codeUnder, pageOf } from '../../support/document.ts'
import { emptyFolder, launch } from '../../support/executable.ts'
import { type Later, makeLater, makeRelease, TARGET } from './releases.ts'
import { bootSystemd, type Machine } from './systemd.ts'

/** The code blocks of one language under a heading of a page in docs/operate, for the target of this machine. */
export const blocks = (page: string, heading: string, language = 'sh') =>
  codeUnder(heading, language, pageOf(page)).map(code =>
    code.replaceAll('0.2.0', version).replaceAll('linux-x64', TARGET),
  )

/** A machine with systemd and a Postgres, on which somebody types what the pages say. */
export interface PageMachine {
  /** Runs commands as root; fails with their output. `folder` is that of the release, where the tar was unpacked. */
  run(script: string, folder?: string): Promise<string>
  /** Runs commands as the superuser of Postgres. */
  asPostgres(script: string): Promise<string>
  /** Runs commands while integrations send requests through nginx. Returns how often each result came. */
  underLoad(credentials: string, script: string): Promise<Record<string, number>>
  machine: Machine
  /** A folder that is the same inside and outside. */
  files: string
  stop(): Promise<void>
}

/**
 * Boots the machine, puts the files of this release and of a later one into /root/VERSION, and starts Postgres, whose
 * superuser has the password `password`.
 */
export async function bootPageMachine(later: Later): Promise<PageMachine> {
  const files = emptyFolder()
  chmodSync(files, 0o755)
  for (const name of [version, later.version]) mkdirSync(join(files, name))
  await Promise.all([makeRelease(join(files, version)), makeLater(later, join(files, later.version))])
  const machine = await bootSystemd([files])
  await machine.sh(`cp -r ${files}/* /root`)

  async function run(script: string, folder = '/root'): Promise<string> {
    const { code, stdout, stderr } = await machine.sh(`cd ${folder}\n${script}`)
    if (code === 0) return stdout
    const { stdout: journal } = await machine.sh('journalctl -n 40 -o cat --no-pager')
    throw new Error(`exit code ${code} of:\n${script}\n${stdout}${stderr}${journal}`)
  }
  const asPostgres = (script: string) => {
    writeFileSync(join(files, 'script.sh'), `cd /tmp\n${script}`, { mode: 0o755 })
    return run(`runuser -u postgres -- bash -e ${join(files, 'script.sh')}`)
  }

  async function underLoad(credentials: string, script: string): Promise<Record<string, number>> {
    const load = join(import.meta.dir, 'restart-load.ts')
    const command = [process.execPath, load, 'https://127.0.0.1/export']
    const requests = launch(machine.inside(...command), { stdin: 'open', env: { HOME: '/root' } })
    await requests.stdin.write(`${credentials}\n`)
    await run(script)
    requests.stdin.end()
    const { stdout, stderr, code } = await requests.finished
    if (code !== 0) throw new Error(stderr)
    return JSON.parse(stdout)
  }

  const data = '/var/lib/postgresql/test'
  const bin = '$(ls -d /usr/lib/postgresql/*/bin | tail -1)'
  await run(`install -d -o postgres -g postgres ${data} /run/postgresql`)
  await asPostgres(
    `${bin}/initdb -D ${data} --auth-local=peer --auth-host=scram-sha-256 --pwfile=<(echo password) >/dev/null
     ${bin}/pg_ctl -D ${data} -w -o '-c fsync=off -c listen_addresses=127.0.0.1' -l ${data}/log start >/dev/null`,
  )
  return { run, asPostgres, underLoad, machine, files, stop: () => machine.stop() }
}
