import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { MIGRATIONS, schemaNumber } from '../../src/database/migrations.ts'
import { selfSigned } from '../support/certificate.ts'
import { pageOf } from '../support/document.ts'
import { cleanUp } from '../support/executable.ts'
import { program, requires } from '../support/requires.ts'
import { until } from '../support/until.ts'
import { expectTyped } from './support/console.ts'
import { NGINX } from './support/nginx.ts'
import { blocks, bootPageMachine, type PageMachine } from './support/page-machine.ts'
import { SYSTEMD } from './support/systemd.ts'

setDefaultTimeout(300_000)

const PSQL = program('psql', 'postgresql-client-15')
const CURL = program('curl', 'curl')
const PROMETHEUS = program('prometheus', 'prometheus')
const LATER = '0.3.0'

/** Where the archive of the release was unpacked: the folder that has `docs`. */
const RELEASE = `/root/${version}/axport-${version}`

/** An expanding migration, as a later version may have. */
const ADDED = {
  name: '9000_added',
  sql: `-- compatible-with: ${schemaNumber(MIGRATIONS)}\ncreate table added (id bigint primary key);\n`,
}

// Each command is that of a page. What a page leaves open is filled in here: the name of a certificate, a password.
requires(...SYSTEMD, NGINX, PSQL, CURL, PROMETHEUS).describe(
  'the pages, followed on an empty machine,',
  () => {
    let page: PageMachine
    let run: PageMachine['run']
    let asPostgres: PageMachine['asPostgres']
    let credentials: string

    const metrics = (port: number) => run(`curl -s http://127.0.0.1:${port}/metrics`)
    const schemaOf = async (port: number) => /version="([^"]+)"/.exec(await metrics(port))?.[1]
    const owner = (command: string) => run(`export DATABASE_URL_FILE=/etc/axport/owner-url\n${command}`)
    const records = (name: string) =>
      asPostgres(`psql -d axport -XAtc "select count(*) from export_records where document like '%${name}%'"`)
    /** The command that restarts one instance after the other. */
    const [restart = ''] = blocks('install.md', 'The service').slice(1)

    beforeAll(async () => {
      page = await bootPageMachine({ version: LATER, migration: ADDED })
      run = page.run
      asPostgres = page.asPostgres
    })
    afterAll(async () => {
      await page?.stop()
      await cleanUp()
    })

    test('install a release', async () => {
      for (const name of ['install.md', 'tutorial.md'])
        for (const [, packages] of pageOf(name).matchAll(/^apt-get install -y (.+)$/gm))
          await run(`dpkg-query --show ${packages}`)
      for (const code of blocks('install.md', 'The executable')) await run(code, `/root/${version}`)
      expect(await run('readlink /usr/local/bin/axport /usr/local/bin/axport-serve')).toBe(
        `axport-${version}\n`.repeat(2),
      )
    })

    test('give a tutorial whose every command prints what the page shows', async () => {
      const shell = page.machine.inside('env', '-C', RELEASE, 'bash')
      expect(await expectTyped(pageOf('tutorial.md'), { shell })).toBeGreaterThan(30)
      expect(await asPostgres("psql -Atc 'select datname from pg_database' -c '\\du'")).not.toContain(
        'tutorial',
      )
    })

    test('make a database, its roles, secrets and two instances of the service', async () => {
      const inOneShell = ['The database', 'Secrets and where they are'].flatMap(heading =>
        blocks('install.md', heading),
      )
      await run(inOneShell.join('\n').replace('Area/City', 'America/Chicago'))
      for (const code of blocks('privacy.md', 'What is recorded')) await owner(code)
      const [start = ''] = blocks('install.md', 'The service')
      expect(await run(start, `/root/${version}`)).toContain('"ready":true')
    })

    test('check the settings of the unit before a restart, also while it is stopped', async () => {
      const [check = '', show = ''] = [...pageOf('settings.md').matchAll(/```sh\n([\s\S]*?)```/g)].map(
        ([, code]) => code,
      )
      await run('echo LOG_LEVEL=warn >/etc/axport/serve.env && systemctl stop axport-serve@1')
      // As in a shell that went on from install.md.
      const checked = () => page.machine.sh(`export DATABASE_URL_FILE=/etc/axport/owner-url\n${check}`)
      expect((await checked()).stdout).toMatch(/^serve can start: /m)
      await run('echo LOG_LEVEL=loud >/etc/axport/serve.env')
      expect(await checked()).toMatchObject({ code: 1, stderr: expect.stringContaining('LOG_LEVEL') })
      const config = await run(show)
      expect(config).toMatch(/^PORT +3000 +environment /m)
      expect(config).toMatch(/^LOG_LEVEL +info +default /m)
      expect(config).toMatch(/^DATABASE_URL_FILE +\/run\/credentials\/\S+ +environment /m)
      await run('echo >/etc/axport/serve.env && systemctl start axport-serve@1')
    })

    test('let both instances speak HTTPS, and serve a new certificate as soon as it is there', async () => {
      /** Puts files where somebody runs the commands of the page. */
      const place = async ({ cert, key }: { cert: string; key: string }) => {
        for (const [name, text] of Object.entries({ cert, key }))
          writeFileSync(join(page.files, `${name}.pem`), text)
        await run(`cp ${page.files}/*.pem /root`)
      }
      const names = async () => {
        const subject = (port: number) =>
          run(
            `echo | (openssl s_client -connect 127.0.0.1:${port} 2>&1 || true) | sed -n 's/^subject=CN = //p'`,
          )
        return `${await subject(3000)}${await subject(3010)}`
      }
      await run('echo SHUTDOWN_DELAY=0 >/etc/axport/serve.env')
      const [https = ''] = blocks('install.md', 'HTTPS')
      await place(selfSigned('first'))
      await run(https)
      expect(await names()).toBe('first\nfirst\n')
      const [install = ''] = https.split('\n')
      await place(selfSigned('second'))
      await run(install)
      await until(
        'both serve the new certificate',
        async () => (await names()) === 'second\nsecond\n',
        30_000,
      )
      // systemd watches the file again when the restarts have ended, which is later than the second answer.
      const watcher = () => run('systemctl show -P SubState axport-certificate.path')
      await until('the certificate is watched again', async () => (await watcher()) === 'waiting\n', 30_000)
      await place({ ...selfSigned('third'), key: selfSigned('other').key })
      await run(install)
      const result = () => run('systemctl show -P Result axport-certificate')
      await until('the restart has failed', async () => (await result()) === 'exit-code\n', 30_000)
      expect(await names()).toBe('second\n')
      await run(
        `systemctl disable --now axport-certificate.path
        rm -r /etc/systemd/system/axport-serve@.service.d /etc/axport/serve.env && systemctl daemon-reload
        systemctl restart axport-serve@0 && systemctl restart axport-serve@1`,
      )
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
      const denied = await page.machine.sh(`setpriv --reuid ${uid} --clear-groups cat /etc/axport/loader-url`)
      expect(denied.stderr).toContain('Permission denied')
    })

    test('follow a platform by the feed and compare it at night; a bad row is left out', async () => {
      const [role = ''] = blocks('feed.md', 'The role on the platform', 'sql')
      const schema = join(RELEASE, 'docs', 'operate', 'platform-example')
      await run(`cp ${schema}/schema.sql ${schema}/data.sql ${page.files}`)
      writeFileSync(join(page.files, 'role.sql'), role.replace('…', 'password5'))
      await asPostgres(
        `createdb platform
       for name in schema data role; do psql -q -d platform -f ${page.files}/$name.sql; done`,
      )
      const [queries = '', feed = ''] = blocks('install.md', 'The feed')
      await run(queries)
      await run(`cp --no-preserve=mode ${schema}/queries/*.sql /etc/axport/queries/`)
      await run(feed)
      expect(await run('systemctl is-active axport-feed')).toBe('active\n')
      expect(await run('systemctl show -P Result axport-sync')).toBe('success\n')
      await asPostgres(
        `createdb moved
       for name in schema data; do psql -q -d moved -f ${page.files}/$name.sql; done
       grep '^grant' ${page.files}/role.sql | psql -q -d moved`,
      )
      // The old platform still answers, and its file is replaced as well as written.
      const read = () => asPostgres(`psql -d axport -XAtc "select split_part(platform, ' ', 2) from feeds"`)
      const url = '/etc/axport/platform-url'
      await run(`sed 's,/platform$,/moved,' ${url} > ${url}.new && mv ${url}.new ${url}`)
      await until('the feed reads the moved platform', async () => (await read()) === 'moved\n', 60_000)
      await run(`echo "$(sed 's,/moved$,/platform,' ${url})" > ${url}`)
      await until('the feed reads the old platform', async () => (await read()) === 'platform\n', 60_000)
      // The command of a refusal, which root types, leaves the file of rejects to the unit.
      await run(
        `DATABASE_URL_FILE=/etc/axport/loader-url axport import --max-removed 1 --from-file ${url} --queries /etc/axport/queries --rejects /var/lib/axport-feed/rejects.ndjson`,
      )
      const succeeded = async () => await asPostgres('psql -d axport -XAtc "select succeeded_at from feeds"')
      const before = await succeeded()
      await run('systemctl restart axport-feed')
      await until('the feed has loaded another round', async () => (await succeeded()) !== before, 60_000)
      const state = await metrics(3011)
      expect(state).toMatch(/^axport_feed_last_comparison_timestamp_seconds\{feed="platform"\} \d+/m)
      expect(state).toContain('axport_feed_left_out_rows{feed="platform"} 0\n')
      await asPostgres(
        `psql -q -d platform -c "update people set given = ' ', family = ' ' where person_no = 8"`,
      )
      await run('systemctl start axport-sync')
      expect(await metrics(3011)).toMatch(/^axport_feed_left_out_rows\{feed="platform"\} [1-9]/m)
      expect(await run('stat -Lc %a /var/lib/axport-sync /var/lib/axport-sync/rejects.ndjson')).toBe(
        '700\n600\n',
      )
    })

    test('load the export of a night, and refuse one without a file and one of an earlier night', async () => {
      const [service = '', , csv = ''] = blocks('data.md', 'Exports by psql')
      const [night = ''] = blocks('data.md', 'Every night')
      const [write = ''] = csv.split(' && ')
      const folder = '/var/lib/axport-export'
      await run(service)
      await run(write, RELEASE)
      await run(night)
      await run(
        `chgrp -R axport-export export && chmod -R g+rX export && mv export ${folder}
        systemctl start axport-import`,
        RELEASE,
      )
      const journal = () => run('journalctl -u axport-import -o cat')
      expect(await journal()).toMatch(
        /^loaded \d+ lines, [1-9]\d* rejected .*\n.*\norganizations +0 +0 +[1-9]/m,
      )
      expect(await run('stat -Lc %a /var/lib/axport-import /var/lib/axport-import/rejects.ndjson')).toBe(
        '700\n600\n',
      )
      await run(`mv ${folder}/export/products.csv ${folder}`)
      expect((await page.machine.sh('systemctl start axport-import')).code).toBe(1)
      expect(await journal()).toContain('no products.csv in /var/lib/axport-export/export\n')
      await run(`gzip ${folder}/products.csv && mv ${folder}/products.csv.gz ${folder}/export
        systemctl start axport-import`)
      await run(`find ${folder} -type f -exec touch -d '27 hours ago' {} +`)
      expect((await page.machine.sh('systemctl start axport-import')).code).toBe(1)
      expect(await journal()).toContain('no file of the last 26 hours in /var/lib/axport-export/export\n')
      await run('systemctl disable --now axport-import.timer')
    })

    test('put nginx before the service, and a partner pulls all records through it', async () => {
      const { cert, key } = selfSigned('export.example.org')
      for (const [name, text] of Object.entries({ cert, key }))
        writeFileSync(join(page.files, `${name}.pem`), text)
      await run(`cp ${page.files}/*.pem ${RELEASE}`)
      const [proxy = ''] = blocks('install.md', 'Behind a proxy')
      const others = 'find -L /etc/nginx -type f ! -name axport.conf -exec sha256sum {} + | sort'
      const before = await run(others)
      await run(proxy, RELEASE)
      expect(await run(others)).toBe(before)
      const create =
        'axport integration create Load --purpose Renewal --organizations all --products all --json'
      credentials = (await owner(create)).trim()
      const { client_id, client_secret } = JSON.parse(credentials)
      await run(
        `export NODE_EXTRA_CA_CERTS=${RELEASE}/cert.pem AXPORT_CLIENT_SECRET=${client_secret}
        axport pull --base-url https://127.0.0.1/export --client-id ${client_id} --out pulled.ndjson`,
      )
      expect(await run('wc -l <pulled.ndjson')).toBe(await records(''))
    })

    /** The state of an alert in Prometheus: inactive, pending or firing. */
    const alertIs = async (name: string) => {
      const rules = JSON.parse(await run('curl -s http://127.0.0.1:9090/api/v1/rules'))
      return rules.data.groups[0].rules.find((rule: { name: string }) => rule.name === name)?.state
    }

    test('let Prometheus read both instances, and fire an alert when many secrets are wrong', async () => {
      const [prometheus = ''] = blocks('monitor.md', 'Prometheus')
      const config = '/etc/prometheus/prometheus.yml'
      // Each second, so that the test need not wait for the next reading.
      await run(`sed -i s/15s/1s/g ${config}`)
      const before = await run(`cat ${config}`)
      expect(await run(prometheus, RELEASE)).toContain('axport-alerts.yml')
      const after = await run(`cat ${config}`)
      for (const line of before.trim().split('\n')) expect(after.split('\n')).toContain(line)
      await until('Prometheus has read both', async () => {
        const query = `--data-urlencode 'query=up{job="axport"}==1'`
        const up = JSON.parse(await run(`curl -s http://127.0.0.1:9090/api/v1/query ${query}`))
        return up.data.result.length === 2
      })
      expect((await page.machine.sh(`cd ${RELEASE}\n${prometheus}`)).code).not.toBe(0)
      expect(await run(`cat ${config}`)).toBe(after)
      expect(await alertIs('AxportTokensRefused')).toBe('inactive')
      const wrong = 'curl -s -d grant_type=client_credentials -d client_id=none -d client_secret=none'
      await until(
        'the alert fires',
        async () => {
          await run(`${wrong} 'http://127.0.0.1:3000/oauth/token#[1-10]'`)
          return (await alertIs('AxportTokensRefused')) === 'firing'
        },
        30_000,
      )
    })

    test('make a dump each night that only root can read, and rehearse a restore', async () => {
      const [nights = ''] = blocks('backup.md', 'The nightly copy')
      expect(await run(nights)).toMatch(/ axport-\d{4}-\d\d-\d\d\.dump\n.* erasures\.json\n$/)
      expect(await run('stat -Lc "%a" /var/lib/axport-backup /var/lib/axport-backup/*')).toBe(
        '700\n600\n600\n',
      )
      expect(await run('cat /var/lib/axport-backup/erasures.json')).toBe('[]\n')
      expect(await run("systemctl list-timers --no-pager 'axport-*'")).toContain('2 timers listed')
      const [rehearsal = ''] = blocks('backup.md', 'Rehearse')
      // As in a shell that went on from install.md, here and below.
      expect(await owner(rehearsal)).toContain(` ${(await records('')).trim()}\n(1 row)\n`)
      expect(await run('ls /etc/axport')).not.toContain('rehearsal')
    })

    test('answer the letter of a teacher, and erase her', async () => {
      expect(await records('Given7 ')).toBe('7\n')
      const [ask = ''] = blocks('privacy.md', 'Who was shown whose records')
      const letter = await owner(`echo person7@example.org | ${ask}`)
      for (const part of ['Given7', 'Load', 'Renewal']) expect(letter).toContain(part)
      const [erase = ''] = blocks('privacy.md', 'Remove somebody')
      const answer = await owner(erase.replaceAll('501', '7').replace(/erase 7$/m, 'erase 7 --yes'))
      expect(answer).toMatch(/shown to +Load \(/)
      await run('systemctl start axport-sync')
      expect(await records('Given7 ')).toBe('0\n')
    })

    test('restore the dump of before, under the name of the old database, and she is not back', async () => {
      const [restore = ''] = blocks('backup.md', '1. Another name')
      const [migrate = ''] = blocks('backup.md', '2. The schema and the roles')
      const [list = '', , take = '', refresh = ''] = blocks('backup.md', '3. People who were erased since')
      const output = await owner([restore, migrate, list, take, refresh].join('\n'))
      expect(output).toContain('COPY 1\nINSERT 0 1\n')
      expect(output).toContain('erased people      1 removed from the source tables\n')
      const [rename = ''] = blocks('backup.md', '5. The names', 'sql')
      const [end = ''] = blocks('backup.md', '5. The names')
      await asPostgres(`psql -q -v ON_ERROR_STOP=1 -d postgres <<'SQL'\n${rename}\nSQL`)
      await owner(end)
      expect(await run('ls /etc/axport')).not.toContain('restored')
      await run('ADMIN_PORT=3001 axport health --wait 60s')
      expect([await records('Given7 '), await records('Given9 ')]).toEqual(['0\n', '7\n'])
      await run('systemctl start axport-sync')
      expect([await records('Given7 '), await records('Given9 ')]).toEqual(['0\n', '7\n'])
    })

    test('upgrade and go back by restarts under load, without losing a request', async () => {
      const [upgrade = ''] = blocks('upgrade.md', 'The list')
      const [back = ''] = blocks('upgrade.md', 'Going back')
      for (const list of [upgrade, back]) expect(list).toContain(restart)
      const results = await page.underLoad(credentials, `cd /root/${LATER}\n${upgrade}`)
      expect(Object.keys(results).sort()).toEqual(['page 200', 'token 200'])
      expect(results['page 200']).toBeGreaterThan(100)
      await run(`pg_restore --list /var/lib/axport-backup/before-${LATER}.dump`)
      expect([await schemaOf(3001), await schemaOf(3011)]).toEqual([LATER, LATER])
      expect(await run('axport --version')).toStartWith(LATER)
      const returned = await page.underLoad(credentials, back)
      expect(Object.keys(returned).sort()).toEqual(['page 200', 'token 200'])
      expect([await schemaOf(3001), await schemaOf(3011)]).toEqual([version, version])
      expect(await run('axport --version')).toStartWith(LATER)
      await run('systemctl start axport-backup axport-sync')
      expect(await run('systemctl is-active axport-feed')).toBe('active\n')
    })
  },
)
