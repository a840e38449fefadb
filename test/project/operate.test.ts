import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { archiveOfFiles } from '../../scripts/release/other-files.ts'
import { program, requires } from '../support/requires.ts'

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
    const headings = [...read('alerts.md').matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
    expect(alerts.length).toBeGreaterThan(8)
    expect(headings).toEqual(alerts)
  })

  test('have a checklist that fits on one screen', () => {
    expect(read('checklist.md').split('\n').length).toBeLessThan(24)
  })
})

requires(ANALYZE).describe('the units', () => {
  const units = readdirSync(join(operate, 'systemd'))
    .filter(name => name.startsWith('axport-') && !name.endsWith('.d'))
    .map(name => name.replace('@', '@0'))

  test('are valid by systemd-analyze verify', () => {
    expect(units.length).toBe(8)
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

test('the archive of a release has the documents that its files link to', async () => {
  const files = await filesOfArchive()
  const has = (path: string) => files.some(file => file === path || file.startsWith(`${path}/`))
  for (const path of ['README.md', 'CHANGELOG.md', 'docs/operate/install.md', 'docs/overview.svg'])
    expect(files).toContain(path)
  for (const name of ['CHANGELOG.md', 'docs/operate/README.md', 'docs/operate/install.md'])
    for (const [, link = ''] of readFileSync(join(root, name), 'utf8').matchAll(
      /\]\(((?:docs|[\w-]+\.)[^)#:\s]*)/g,
    ))
      expect([name, link, has(join(dirname(name), link))]).toEqual([name, link, true])
})
