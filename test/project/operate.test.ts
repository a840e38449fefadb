import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { archiveOfFiles } from '../../scripts/release/other-files.ts'
import { codeUnder, pageOf } from '../support/document.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { program, requires } from '../support/requires.ts'

afterAll(cleanUp)

const root = join(import.meta.dir, '..', '..')
const operate = join(root, 'docs', 'operate')
const read = (name: string) => readFileSync(join(operate, name), 'utf8')

const ANALYZE = program('systemd-analyze', 'systemd')

function analyze(...args: string[]): { code: number; output: string } {
  const env = { ...process.env, SYSTEMD_UNIT_PATH: `${join(operate, 'systemd')}:` }
  const { exitCode, stdout, stderr } = Bun.spawnSync(['systemd-analyze', ...args], { env })
  return { code: exitCode, output: `${stdout}${stderr}` }
}

describe('the pages for operators', () => {
  test('are all in their index', () => {
    const pages = readdirSync(operate).filter(name => name.endsWith('.md'))
    expect(pages.length).toBeGreaterThan(10)
    for (const page of pages.filter(name => name !== 'README.md'))
      expect(read('README.md')).toContain(`| [${page}](${page}) |`)
  })

  test('have a section about each alert of the file, in the same order, and about no other alert', () => {
    const alerts = [...read('alerts.yml').matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name)
    const headings = [...read('monitor.md').matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
    expect(alerts.length).toBeGreaterThan(8)
    expect(headings).toEqual(alerts)
  })

  test.each([
    ['AxportUnwatched', 'For five minutes', 'for: 5m'],
    ['AxportErrors', 'More than 1 %', '> 0.01'],
    ['AxportErrors', 'more than three within five minutes', '[5m])) > 3'],
    ['AxportOverload', 'More than one refusal a second', '> 1'],
    ['AxportSlow', 'more than 0.5 seconds', '> 0.5'],
    ['AxportImportMissing', 'for 26 hours', '> 26 * 3600'],
    ['AxportFeedStopped', 'for 15 minutes', '> 900'],
    ['AxportFeedRowsLeftOut', 'for 15 minutes', 'for: 15m'],
    ['AxportSyncMissing', 'for 26 hours', '> 26 * 3600'],
    ['AxportRowsRemoved', 'more than a tenth of a table within a day', '> 0.1'],
    ['AxportBackupMissing', 'for 26 hours', '> 26 * 3600'],
    ['AxportSecretOld', 'older than 400 days', '> 400 * 86400'],
    ['AxportCertificateExpires', 'within 14 days', '< 14 * 86400'],
    ['AxportTokensRefused', 'More than 20 wrong secrets in 15 minutes', '[15m])) > 20'],
    ['AxportEnding', 'More than three restarts in 15 minutes', '[15m]) > 3'],
    ['AxportDiskFills', 'within four hours', '4 * 3600) <= 0'],
    ['AxportCoreFull', 'late by more than 0.1 seconds', '> 0.1'],
    ['AxportMemoryGrows', 'more than 400 MB', '> 4e8'],
    ['AxportIntegrationSilent', 'for 26 hours', '> 26 * 3600'],
  ])('say of %s when it fires, as its rule does', (name, said, condition) => {
    const [, section = ''] = read('monitor.md').split(`\n### ${name}\n`)
    expect(section.split('\n#')[0]?.replaceAll('\n', ' ')).toContain(said)
    const [, rule = ''] = read('alerts.yml').split(`- alert: ${name}\n`)
    expect(rule.split('- alert: ')[0]).toContain(condition)
  })

  test('let no container set a time zone that nobody has filled in, and set it at the installation alone', async () => {
    for (const name of ['compose.yaml', 'kubernetes.yaml']) expect(read(name)).not.toContain('--time-zone')
    const [, containers = ''] = read('install.md').split('\n## Containers\n')
    expect(containers).toContain(
      '\ndocker compose run --rm migrate migrate --time-zone Area/City\ndocker compose up -d\n',
    )
    const [edit = ''] = /^sed .* kubernetes\.yaml/m.exec(containers) ?? []
    const { stdout } = Bun.spawnSync(['sh', '-c', edit], { cwd: operate })
    const [, args] = /^ +args: \[(.*)\]$/m.exec(`${stdout}`) ?? []
    expect(args).toBe('migrate, --time-zone, Area/City, --grant, axport_serve')
    const commands = pageOf('install.md') + pageOf('upgrade.md') + pageOf('backup.md')
    expect(new Set(commands.match(/--time-zone[ ,]+[A-Z]\S*?(?=[ ,\n])/g))).toEqual(
      new Set(['--time-zone Area/City', '--time-zone, Area/City']),
    )
  })

  test('have an alert about memory that fires below the limit of a container', () => {
    const [, limit] = /limits: \{ memory: (\d+)Mi \}/.exec(read('kubernetes.yaml')) ?? []
    const [, alert] = /process_resident_memory_bytes\{job="axport"\} > (\S+)/.exec(read('alerts.yml')) ?? []
    expect(Number(alert)).toBeLessThan(0.8 * Number(limit) * 2 ** 20)
  })

  requires(program('jq')).test('have commands that find lines of the log, between others', () => {
    const folder = emptyFolder()
    const line = (status: number, client_id?: string) =>
      JSON.stringify({ level: 30, address: '203.0.113.9', client_id, status })
    const lines = ['Started axport.', line(200, 'A'), line(503, 'B'), 'ready', line(503, 'B'), line(404)]
    writeFileSync(join(folder, 'journalctl'), `#!/bin/sh\ncat <<'END'\n${lines.join('\n')}\nEND\n`)
    chmodSync(join(folder, 'journalctl'), 0o755)
    const [commands = ''] = codeUnder('Search the log', 'sh', read('monitor.md'))
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    const { stdout, stderr } = Bun.spawnSync(['sh', '-ec', commands], { env })
    const counted = '      2 B\t203.0.113.9\t503\n      1 \t203.0.113.9\t404\n'
    expect([`${stdout}`, `${stderr}`]).toEqual([`${lines[2]}\n${lines[4]}\n${counted}`, ''])
  })

  test('have a list to check before the first integration that fits on one screen', () => {
    const [, list = ''] = pageOf('install.md').split('\n## Before the first integration\n')
    expect(list.match(/^\d+\. /gm)?.length).toBeGreaterThan(10)
    expect(list.split('\n').length).toBeLessThan(24)
  })
})

test('the units of loads get each secret under the name of its file, as the command of a refusal expects', () => {
  const loading = ['feed', 'sync', 'import'].map(name => read(`systemd/axport-${name}.service`)).join('')
  const secrets = [...loading.matchAll(/^LoadCredential=(.*):\/etc\/axport\/(.*)$/gm)]
  expect(secrets.length).toBe(5)
  for (const [, name, file] of secrets) expect(name).toBe(file)
})

requires(ANALYZE).describe('the units', () => {
  const units = readdirSync(join(operate, 'systemd'))
    .filter(name => name.startsWith('axport-') && !name.endsWith('.d'))
    .map(name => name.replace('@', '@0'))

  test('are valid by systemd-analyze verify', () => {
    expect(units.length).toBe(12)
    const { code, output } = analyze('verify', '--man=no', ...units)
    // A missing executable at /usr/local/bin is no fault of the unit.
    const faults = output.split('\n').filter(line => line !== '' && !line.includes('/usr/local/bin/axport'))
    expect({ faults, code: faults.length === 0 ? 0 : code }).toEqual({ faults: [], code: 0 })
  })

  test('have an exposure level of at most 1.2 in systemd-analyze security', () => {
    for (const unit of units.filter(name => name.endsWith('.service'))) {
      const { code, output } = analyze('security', '--offline=true', '--threshold=12', unit)
      expect([unit, code, output.includes('Overall exposure level')]).toEqual([unit, 0, true])
    }
  })

  test('are all in the archive of a release', async () => {
    const files = new Set(await filesOfArchive())
    for (const path of new Bun.Glob('**').scanSync(join(operate, 'systemd')))
      expect([path, files.has(`systemd/${path}`)]).toEqual([path, true])
  })
})

/** The paths in the archive of a release, without its folder. */
async function filesOfArchive(): Promise<string[]> {
  const archive = new Bun.Archive(await archiveOfFiles('axport'))
  return [...(await archive.files()).keys()].map(path => path.replace(/^axport\//, ''))
}

test('the archive of a release has every file that its documents link to, byte for byte', async () => {
  const archive = new Bun.Archive(await archiveOfFiles('axport'))
  const files = new Map(
    [...(await archive.files())].map(([path, file]) => [path.replace(/^axport\//, ''), file]),
  )
  for (const path of ['README.md', 'CHANGELOG.md', 'docs/operate/install.md', 'docs/overview.svg'])
    expect([...files.keys()]).toContain(path)
  const picture = await files.get('docs/docs.png')?.bytes()
  expect(Buffer.compare(picture ?? Buffer.of(), readFileSync(join(root, 'docs', 'docs.png')))).toBe(0)
  const has = (path: string) => [...files.keys()].some(file => file === path || file.startsWith(`${path}/`))
  const missing: string[] = []
  for (const [name, file] of files)
    if (name.endsWith('.md'))
      for (const [, link = ''] of (await file.text()).matchAll(/\]\((?!https?:)([^)#:\s]+)[^)\s]*\)/g))
        if (!has(join(dirname(name), link).replace(/\/$/, ''))) missing.push(`${name}: ${link}`)
  expect(missing).toEqual([])
})
