import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { selfSigned } from '../support/certificate.ts'
import { codeUnder, pageOf } from '../support/document.ts'
import { cleanUp, emptyFolder, launch } from '../support/executable.ts'
import { EXAMPLE } from '../support/platform-example.ts'
import { program, requires } from '../support/requires.ts'
import { NGINX } from './support/nginx.ts'
import { laterSources, makeRelease, TARGET } from './support/releases.ts'
import { bootSystemd, type Machine, SYSTEMD } from './support/systemd.ts'

setDefaultTimeout(300_000)

const PSQL = program('psql', 'postgresql-client-15')
const LATER = '0.2.0'
const INSTALL = pageOf('install.md')
const UPGRADE = pageOf('backup-upgrade.md')

/** An expanding migration, as a later version may have. */
const ADDED = {
  name: '9000_added',
  sql: '-- compatible-with: 16\ncreate table added (id bigint primary key);\n',
}

/** The commands under a heading of a page, for the target of this machine. */
const commands = (heading: string, page = INSTALL) =>
  codeUnder(heading, 'sh', page).map(code =>
    code.replaceAll('0.1.0', version).replaceAll('linux-x64', TARGET),
  )

requires(...SYSTEMD, NGINX, PSQL).describe('the pages, followed on a machine with systemd,', () => {
  const files = emptyFolder()
  let machine: Machine
  let credentials: string

  /** Runs commands as root in the folder of a release; fails with their output. */
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
  const metrics = (port: number) => run(`curl -s http://127.0.0.1:${port}/metrics`)
  const schemaOf = async (port: number) => /version="([^"]+)"/.exec(await metrics(port))?.[1]

  /** Runs commands while integrations send requests through nginx. Returns how often each result came. */
  async function underLoad(script: string): Promise<Record<string, number>> {
    const load = join(import.meta.dir, 'support', 'restart-load.ts')
    const command = [process.execPath, load, 'https://127.0.0.1/export']
    const requests = launch(machine.inside(...command), { stdin: 'open', env: { HOME: '/root' } })
    await requests.stdin.write(`${credentials}\n`)
    await run(script)
    requests.stdin.end()
    const { stdout, stderr, code } = await requests.finished
    if (code !== 0) throw new Error(stderr)
    return JSON.parse(stdout)
  }

  beforeAll(async () => {
    const releases = [await makeRelease(), await makeRelease(laterSources(LATER, ADDED))]
    chmodSync(files, 0o755)
    cpSync(EXAMPLE, join(files, 'example'), { recursive: true })
    machine = await bootSystemd([files])
    for (const [at, name] of [version, LATER].entries()) await run(`cp -r ${releases[at]} /root/${name}`)
    const data = '/var/lib/postgresql/test'
    const bin = '$(ls -d /usr/lib/postgresql/*/bin | tail -1)'
    await run(`install -d -o postgres -g postgres ${data} /run/postgresql`)
    await asPostgres(
      `${bin}/initdb -D ${data} --auth-local=peer --auth-host=scram-sha-256 >/dev/null
       ${bin}/pg_ctl -D ${data} -w -o '-c fsync=off -c listen_addresses=127.0.0.1' -l ${data}/log start >/dev/null`,
    )
  })
  afterAll(async () => {
    await machine?.stop()
    await cleanUp()
  })

  test('install a release, a database, its roles, secrets and two instances of the service', async () => {
    const folder = `/root/${version}`
    for (const code of commands('The executable')) await run(code, folder)
    for (const code of commands('The database')) await asPostgres(code)
    for (const code of commands('Secrets and where they are')) await run(code, folder)
    const [start = '', restart = ''] = commands('The service')
    expect(await run(start, folder)).toContain('"ready":true')
    await run(restart, folder)
    expect(await run('readlink /usr/local/bin/axport /usr/local/bin/axport-serve')).toBe(
      `axport-${version}\n`.repeat(2),
    )
  })

  test('check the settings of the unit before a restart', async () => {
    const [, code = ''] = /```\n([\s\S]*?)```/.exec(pageOf('settings.md')) ?? []
    expect(code).toContain('axport serve --check --env-file $running')
    await run('echo LOG_LEVEL=warn >/etc/axport/serve.env')
    expect(await run(code)).toMatch(/^settings +ok +readable$[\s\S]*^serve can start: /m)
    const config = await run(`${code.split('\n')[0]}; axport config --env-file $running`)
    expect(config).toMatch(/^PORT +3000 +file /m)
    expect(config).toMatch(/^DATABASE_URL_FILE +\/run\/credentials\/\S+ +file /m)
    await run('rm /etc/axport/serve.env')
  })

  test('leave no secret that anybody but root and its unit can read', async () => {
    const urls = await run('stat -c "%n %U %a" /etc/axport/*-url')
    expect(urls.trim().split('\n')).toEqual(
      ['backup', 'loader', 'owner', 'serve'].map(name => `/etc/axport/${name}-url root 600`),
    )
    const pid = await run('systemctl show -P MainPID axport-serve@0')
    const uid = (await run(`stat -c %u /proc/${pid.trim()}`)).trim()
    expect(Number(uid)).toBeGreaterThan(60_000)
    const others = await run('find /run/credentials -type f -not -user root | xargs stat -c "%u %a"')
    for (const line of others.trim().split('\n')) expect(line).toMatch(/^6\d{4} 400$/)
    const denied = await machine.sh(`setpriv --reuid ${uid} --clear-groups cat /etc/axport/loader-url`)
    expect(denied.stderr).toContain('Permission denied')
  })

  test('follow a platform by the feed and compare it at night; a bad row waits', async () => {
    await asPostgres(
      `psql -q -c "create role axport_reads login password 'password5'" -c 'create database platform'
       psql -q -d platform -f ${files}/example/schema.sql -f ${files}/example/data.sql
       psql -q -d platform -c 'grant select on all tables in schema public to axport_reads'`,
    )
    const [, feed = ''] = commands('The nights')
    await run(feed, `/root/${version}`)
    await run('ADMIN_PORT=3021 axport health --wait 60s')
    expect(await run('systemctl show -P Result axport-sync')).toBe('success\n')
    const state = await metrics(3011)
    expect(state).toMatch(/^axport_feed_last_comparison_timestamp_seconds\{feed="platform"\} \d+/m)
    expect(state).toContain('axport_feed_rejected_rows{feed="platform"} 0\n')
    await asPostgres(
      `psql -q -d platform -c "update people set given = ' ', family = ' ' where person_no = 7"`,
    )
    await run('systemctl start axport-sync')
    expect(await metrics(3011)).toMatch(/^axport_feed_rejected_rows\{feed="platform"\} [1-9]/m)
    expect(await run('stat -Lc %a /var/lib/axport-sync /var/lib/axport-sync/rejects.ndjson')).toBe(
      '700\n600\n',
    )
  })

  test('restart the service behind nginx under load without losing a request', async () => {
    const { cert, key } = selfSigned('export.example.org')
    for (const [name, text] of Object.entries({ cert, key })) writeFileSync(join(files, `${name}.pem`), text)
    const owner = 'export DATABASE_URL_FILE=/etc/axport/owner-url'
    const scope = '--organizations all --products all'
    credentials = (await run(`${owner}; axport integration create Load ${scope} --json`)).trim()
    await run(
      `mkdir -p /etc/ssl/axport && cp ${files}/*.pem /etc/ssl/axport/
       nginx -c /root/${version}/axport-${version}/nginx.conf`,
    )
    const [, restart = ''] = commands('The service')
    const results = await underLoad(`${restart}\n${restart}`)
    expect(Object.keys(results).sort()).toEqual(['page 200', 'token 200'])
    expect(results['page 200']).toBeGreaterThan(500)
  })

  test('make a backup and rehearse it, and the metrics say when', async () => {
    const [nights = ''] = commands('The nights')
    await run(nights)
    const kept = await run('stat -c "%a" /var/lib/axport-backup/ && ls /var/lib/axport-backup/')
    expect(kept).toMatch(/^700\naxport-\d{4}-\S+Z\.backup\n$/)
    expect(await run('ls /var/cache/axport-rehearsal/')).toBe('')
    expect(await run("systemctl list-timers --no-pager 'axport-*'")).toContain('3 timers listed')
    expect(await run('journalctl -u axport-rehearsal -o cat')).toMatch(/has rendered [1-9]\d+ records/)
    for (const name of ['backup', 'rehearsal']) {
      const pattern = new RegExp(`^axport_last_${name}_timestamp_seconds (\\S+)$`, 'm')
      const [, at] = pattern.exec(await metrics(3001)) ?? []
      expect(Math.abs(Number(at) - Date.now() / 1000)).toBeLessThan(300)
    }
  })

  test('upgrade under load, and go back under load', async () => {
    const [upgrade = ''] = commands('The list', UPGRADE)
    const [back = ''] = commands('Going back', UPGRADE)
    const results = await underLoad(`cd /root/${LATER}\n${upgrade}`)
    expect(Object.keys(results).sort()).toEqual(['page 200', 'token 200'])
    expect([await schemaOf(3001), await schemaOf(3011)]).toEqual([LATER, LATER])
    expect(await run('axport --version')).toStartWith(LATER)
    const returned = await underLoad(back)
    expect(Object.keys(returned).sort()).toEqual(['page 200', 'token 200'])
    expect([await schemaOf(3001), await schemaOf(3011)]).toEqual([version, version])
    expect(await run('axport --version')).toStartWith(LATER)
    await run('systemctl start axport-backup axport-sync')
    await run('ADMIN_PORT=3021 axport health --wait 60s')
  })
})
