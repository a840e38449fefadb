// docs/operate/backup.md, typed: the nightly commands, a rehearsal, and a restore after which nobody is back.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeUnder, pageOf } from '../support/document.ts'
import { cleanUp, emptyFolder, executable, launch } from '../support/executable.ts'
import { assessment, educator, multiPart, part, proctor } from '../support/fixtures.ts'
import { newToken, tryList } from '../support/http.ts'
import { succeed, WORLD } from '../support/operator.ts'
import { program, requires } from '../support/requires.ts'
import { firstToken, serveWith } from '../support/served.ts'
import { POSTGRES_15, PROGRAMS_15, usePostgres15 } from './support/debian-postgres.ts'
import { importing, integrate, on } from './support/operations.ts'

setDefaultTimeout(180_000)

const PAGE = pageOf('backup.md')
const under = (heading: string, language = 'sh') => codeUnder(heading, language, PAGE)

/** An educator who also proctored others, and a proctor who did nothing else. */
const ERASED = ['600', '78']
const PLATFORM = [
  ...WORLD,
  educator(600, { name: 'Xenia Gone', first_name: 'Xenia', last_name: 'Gone' }),
  proctor(78, 'Xaver Gone'),
  assessment(9600, { user_id: 600 }),
  multiPart(9700, [part(9701, { proctor_id: 600 }), part(9702, { proctor_id: 78 })]),
]

requires(POSTGRES_15).describe('the page about backups', () => {
  const server = usePostgres15()
  let folder: string
  let owner: string
  let credentials: Awaited<ReturnType<typeof integrate>>

  /** Types commands as root on a machine whose folders are below `folder`. Returns what they print. */
  async function type(...commands: string[]): Promise<string> {
    const { hostname, port, username, password } = new URL(server.cluster.url())
    const script = commands
      .join('\n')
      .replaceAll('/etc/axport', `${folder}/etc`)
      .replaceAll('/var/lib/axport-backup', `${folder}/nights`)
      .replaceAll('/var/backups/axport', `${folder}/copies`)
      .replaceAll('runuser -u postgres --', '')
    const env = {
      PATH: `${folder}/bin:${PROGRAMS_15.folder}:/usr/bin:/bin`,
      ...{ PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password },
    }
    const running = launch(['bash', '-e', '-o', 'pipefail', '-c', script], { env, cwd: folder })
    const { code, stdout, stderr } = await running.finished
    if (code !== 0) throw new Error(`exit code ${code} of:\n${script}\n${stdout}${stderr}`)
    return stdout
  }

  const urlOf = (username: string) =>
    Object.assign(new URL(server.cluster.url('axport')), { username, password: 'password' }).href

  /** Types what the unit runs each night, in its folder and as its role. */
  const makeNight = () =>
    type(
      'cd /var/lib/axport-backup',
      `export DATABASE_URL=${urlOf('axport_backup')} PGSERVICEFILE=/etc/axport/backup-service`,
      under('The nightly copy')[1] as string,
    )

  /** How often a database mentions the erased people, in any table. */
  const mentions = async (database: string) =>
    (await type(`pg_dump --data-only ${database}`)).match(/gone/gi)?.length ?? 0

  const [erasuresOfOld = '', erasuresOfNight = '', take = '', refresh = ''] = under(
    '3. People who were erased since',
  )
  const restore = (list: string) =>
    type(...under('1. Another name'), ...under('2. The schema and the roles'), list, take, refresh)

  beforeAll(async () => {
    folder = emptyFolder()
    for (const name of ['etc', 'nights', 'bin']) mkdirSync(join(folder, name))
    symlinkSync(await executable(), join(folder, 'bin', 'axport'))
    await type(
      `psql -q -c "create role axport login password 'password'" -c "create role axport_serve login" -c "create role axport_load login" \
        -c "create role axport_backup login password 'password' in role pg_read_all_data"`,
      'createdb --owner=axport --encoding=UTF8 --template=template0 axport',
    )
    owner = urlOf('axport')
    writeFileSync(join(folder, 'etc', 'owner-url'), `${owner}\n`)
    const { hostname, port } = new URL(owner)
    const service = [
      '[axport]',
      `host=${hostname}`,
      `port=${port}`,
      'dbname=axport',
      'user=axport_backup',
      'password=password',
    ]
    writeFileSync(join(folder, 'etc', 'backup-service'), `${service.join('\n')}\n`)
    const roles = ['--grant', 'axport_serve', '--grant-loader', 'axport_load']
    await succeed(owner, 'migrate', '--time-zone', 'UTC', ...roles)
    await importing(owner, PLATFORM)
    credentials = await integrate(owner, { organizations: [10, 11], products: [1, 2] })
    const noted = () => type('psql -d axport -Atc "select count(*) from last_backup"')
    expect(await noted()).toBe('0\n')
    await makeNight()
    expect(await noted()).toBe('1\n')
    expect(await type(...under('Rehearse'))).toMatch(/\b5\n\(1 row\)\n/)
    for (const id of ERASED) await succeed(owner, 'erase', id, '--yes')
    expect(await mentions('axport')).toBe(0)
  })
  afterAll(cleanUp)

  requires(program('rsync'), program('rrsync', 'rsync')).test(
    'lets another machine fetch the folder and nothing else, and delete old copies beside a new one alone',
    async () => {
      const [command = ''] = /(?<=command=")[^"]+/.exec(PAGE) ?? []
      const copy = codeUnder('On another machine', 'sh', PAGE).join('')
      const [, fetch = ''] = /^0 4 \* \* \* root (.*)$/m.exec(copy) ?? []
      // Stands for ssh -i KEY [-l USER] HOST COMMAND… with the command that the line of authorized_keys forces.
      writeFileSync(
        join(folder, 'bin', 'ssh'),
        `#!/bin/sh
while [ "$1" = -i ] || [ "$1" = -l ]; do shift 2; done
shift
SSH_ORIGINAL_COMMAND="$*" exec ${command.replace('/var/lib/axport-backup', `${folder}/nights`)}
`,
        { mode: 0o755 },
      )
      const copies = join(folder, 'copies')
      mkdirSync(copies)
      const old = join(copies, 'axport-2020-01-01.dump')
      writeFileSync(old, '')
      utimesSync(old, 0, 0)
      const complaint = 'axport: no copy tonight, or no dump of the last two days\n'
      const night = (await type('ls /var/lib/axport-backup/axport-*.dump')).trim()
      await type(`touch -d '3 days ago' ${night}`)
      expect(await type(fetch)).toBe(complaint)
      expect(existsSync(old)).toBe(true)
      await type(`touch ${night}`)
      expect(await type(fetch)).toBe('')
      expect(existsSync(old)).toBe(false)
      expect(await type('cd /var/lib/axport-backup; sha256sum *')).toBe(
        await type('cd /var/backups/axport; sha256sum *'),
      )
      const elsewhere = await type(`{ ${fetch.replace(':/ ', ':/../etc/ ')}; } 2>&1`)
      expect(elsewhere).toContain('rrsync')
      expect(elsewhere).toEndWith(complaint)
    },
  )

  test('restores a dump without the people who were erased since, by the list of the old database', async () => {
    const output = await restore(erasuresOfOld)
    expect(output).toContain('COPY 1\nINSERT 0 2\n')
    expect(output).toContain('erased people      2 removed from the source tables\n')
    expect(await mentions('axport_restored')).toBe(0)
    const tombstones = (database: string) =>
      on(server.cluster.url(database), async sql => [
        ...(await sql`select user_id, date_trunc('second', erased_at), role from erasures order by user_id`),
      ])
    expect(await tombstones('axport_restored')).toEqual(await tombstones('axport'))
    await type('dropdb axport_restored')
  })

  test('restores it by the list of the night, under the name of the old database, beside a running service', async () => {
    const [dump] = (await type('ls /var/lib/axport-backup/axport-*.dump')).trim().split('\n')
    await type(`cp ${dump} first.dump`)
    await makeNight()
    // The newest dump is of after the erasures; the one of before is restored.
    await type(`cp first.dump ${dump}`)
    expect(await type(`pg_restore --file=- ${dump}`)).toContain('Xenia')
    const service = await serveWith([], { DATABASE_URL: owner })
    const old = await firstToken(service.url, credentials)
    const before = (await tryList(service.url, old)).text
    expect(await restore(erasuresOfNight)).toContain('erased people      2 removed from the source tables\n')
    const [rename = ''] = under('5. The names', 'sql')
    writeFileSync(join(folder, 'rename.sql'), rename)
    await type('psql -q -v ON_ERROR_STOP=1 -d postgres -f rename.sql', ...under('5. The names'))
    expect(await mentions('axport')).toBe(0)
    expect((await tryList(service.url, old)).status).toBe(401)
    const token = await newToken(service.url, credentials)
    expect((await tryList(service.url, token)).text).toBe(before)
    const { stdout } = await importing(owner, PLATFORM)
    expect(stdout).toContain('2 erased people left out')
    expect((await tryList(service.url, token)).text).toBe(before)
  })
})
