import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { version } from '../../package.json'
import { databaseUrl, dropForeignSettings } from '../../src/config.ts'
import { compatibleWith, MIGRATIONS, schemaNumber } from '../../src/database/migrations.ts'
import { codeUnder, pageOf } from '../support/document.ts'

describe('docs/operate/upgrade.md', () => {
  const page = pageOf('upgrade.md')

  test('says which schema this version needs', () => {
    expect(page).toContain(`| ${version} | ${schemaNumber(MIGRATIONS)} | `)
  })

  test('says what `axport version --json` prints for it', () => {
    expect(page).toContain(`\`"schema":"${MIGRATIONS.at(-1)?.name}"\` for ${schemaNumber(MIGRATIONS)}`)
  })

  test('names no older version that can serve while there is none', () => {
    const oldest = Math.max(...MIGRATIONS.map(compatibleWith))
    expect(page.includes('| none: begin with an empty database |')).toBe(oldest === schemaNumber(MIGRATIONS))
  })
})

describe('docs/operate/troubleshoot.md', () => {
  const page = pageOf('troubleshoot.md')

  test('has the error of two URLs as it is printed', () => {
    const [, message = ''] = /^\| `(DATABASE_URL and .*?)` \|/m.exec(page) ?? []
    expect(message).not.toBe('')
    expect(() => databaseUrl({ DATABASE_URL: 'postgres://one', DATABASE_URL_FILE: '/two' })).toThrow(message)
  })
})

test('no unit sets a variable that axport ignores with a warning', () => {
  const folder = join(import.meta.dir, '../../docs/operate/systemd')
  const units = [...new Bun.Glob('**/*').scanSync(folder)].map(name => pageOf(join('systemd', name)))
  const names = units.flatMap(unit => [...unit.matchAll(/^Environment=(\w+)=/gm)].map(([, name]) => name))
  expect(names).toContain('DATABASE_URL_FILE')
  expect(dropForeignSettings(Object.fromEntries(names.map(name => [name, 'set'])))).toEqual([])
})

describe('docs/operate/backup.md', () => {
  const page = pageOf('backup.md')
  const unit = pageOf('systemd/axport-backup.service')

  test('shows the commands of the unit', () => {
    const [, shown = ''] = codeUnder('The nightly copy', 'sh', page)
    const plain = (text: string) =>
      text.replaceAll('/usr/local/bin/', '').replace('$$(date +%%F)', '2026-11-26')
    for (const command of shown.trim().split('\n')) expect(plain(unit)).toContain(command)
  })

  test('keeps the copies on another machine for as long as the unit keeps the dumps', () => {
    const [days] = /-mtime \+\d+ -delete/.exec(unit) ?? []
    const copies = codeUnder('On another machine', 'sh', page).join('')
    expect(copies).toContain(`-name 'axport-*.dump' ${days} || echo `)
    expect(page).toContain('command="rrsync -ro /var/lib/axport-backup"')
  })
})
