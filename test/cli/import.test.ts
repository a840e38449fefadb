import { afterAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { axport, cleanUp, errorLine } from '../support/executable.ts'
import { assessment, ndjsonOf, organization, proctor } from '../support/fixtures.ts'
import { everything, importText } from '../support/import.ts'
import { NO_JSON, NO_TYPE } from '../support/wordings.ts'
import { TWO, useImports } from './use-imports.ts'

afterAll(cleanUp)

describe('axport import', () => {
  const { database, cwd, run, fileOf } = useImports()

  test('loads a file and prints a summary, and loads the file again without a change', async () => {
    const windows = `\ufeff${TWO.trimEnd().replaceAll('\n', '\r\n')}`
    expect(await run(fileOf('windows.ndjson', windows))).toEqual({
      code: 0,
      stdout:
        'loaded 2 lines\n                  inserted  updated  unchanged  deleted\n' +
        'organizations     1         0        0          0\nproducts          0         0        0          0\n' +
        'users             1         0        0          0\nassessments       0         0        0          0\n' +
        'assessment_parts  0         0        0          0\n',
      stderr: '',
    })
    for (const name of ['plain.ndjson.gz', 'without-an-ending']) {
      const { stdout } = await run('--json', fileOf(name, gzipSync(TWO)))
      const unchanged = { inserted: 0, updated: 0, unchanged: 1, deleted: 0 }
      const answer = { loaded: true, dry_run: false, lines: 2, rejected: 0, users: unchanged }
      expect(JSON.parse(stdout)).toMatchObject(answer)
    }
  })

  test('changes nothing with --dry-run', async () => {
    await importText(database.sql, TWO)
    const before = await everything(database.sql)
    const { stdout } = await run('--dry-run', fileOf('dry', ndjsonOf([organization(12, 'x')])))
    expect(stdout).toMatch(
      /^would have loaded 1 line\n.*\norganizations +0 +1 +0 +0\n(?:.*\n)*nothing was changed: this was a dry run\n$/,
    )
    expect(await everything(database.sql)).toEqual(before)
    const removal = ndjsonOf([organization(12, 'x'), { type: 'user', id: 77, deleted: true }])
    const answer = JSON.parse((await run('--dry-run', '--json', fileOf('dry', removal))).stdout)
    const summary = { organizations: { updated: 1 }, users: { deleted: 1 } }
    expect(answer).toMatchObject({ loaded: false, dry_run: true, ...summary })
    expect(await everything(database.sql)).toEqual(before)
    const bad = fileOf('bad-dry', `nope\n${ndjsonOf([organization(12, 'x')])}`)
    const rejects = fileOf('rejects', 'of the last time')
    const counts = (await run('--dry-run', '--rejects', rejects, bad)).stdout
    expect(counts).toStartWith('would have loaded 1 line, 1 rejected\n')
    const left = await run('--dry-run', '--rejects', rejects, '--json', bad)
    expect(Object.keys(JSON.parse(left.stdout))).not.toContain('rejects')
    expect(readFileSync(join(cwd, rejects), 'utf8')).toBe('of the last time')
    expect(readdirSync(cwd)).not.toContain(`${rejects}.draft`)
  })

  test('loads nothing if there are bad lines, and lists them on standard error, or on standard output with --json', async () => {
    await importText(database.sql, TWO)
    const before = await everything(database.sql)
    // The last line is bad for several reasons, and counts once.
    const bad = [organization(9), 'nope', '', { type: 'school', id: 1 }, organization(12, ''), assessment(1)]
    const file = fileOf('bad', ndjsonOf(bad))
    const reasons = [`line 2: ${NO_JSON}`, `line 4: ${NO_TYPE}`, 'line 5: name is blank']
    const { code, stdout, stderr } = await run(file)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    const lines = stderr.split('\n')
    expect(lines.slice(0, 3)).toEqual(reasons)
    for (const line of lines.slice(3, -2)) expect(line).toStartWith('line 6: ')
    expect(lines.slice(-2)).toEqual([
      'axport: nothing was loaded: 4 bad lines of 5, correct and import again, or load the others with --rejects FILE',
      '',
    ])
    const json = JSON.parse((await run('--json', file)).stdout)
    expect(json).toMatchObject({ loaded: false, bad_lines: 4 })
    expect(json.problems.slice(0, 2)).toEqual([
      { line: 2, reason: NO_JSON },
      { line: 4, reason: NO_TYPE },
    ])
    expect(await everything(database.sql)).toEqual(before)
  })

  test('removes with --sync the rows that the file lacks, up to the limit', async () => {
    await importText(database.sql, TWO)
    const file = fileOf('one', ndjsonOf([proctor(77), { type: 'end', lines: 1 }]))
    expect(errorLine(await run('--sync', file), 1)).toMatch(
      /1 of 1 organizations.*: axport import --max-removed 1 --sync one$/,
    )
    const { stdout } = await run('--sync', '--max-removed', '1', '--json', file)
    expect(JSON.parse(stdout)).toMatchObject({ organizations: { deleted: 1 }, users: { unchanged: 1 } })
  })

  test('reports in JSON an error of the database', async () => {
    await database.sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no more'; end $$`
    await database.sql`create trigger refuse before insert on organizations execute function refuse()`
    const { code, stdout } = await run('--json', fileOf('two', TWO))
    await database.sql`drop function refuse cascade`
    const error = 'the database refused: no more (SQLSTATE P0001)'
    expect([code, JSON.parse(stdout)]).toEqual([1, { loaded: false, error, notes: [] }])
  })
})

test('axport import checks the file before it connects to the database', async () => {
  expect(errorLine(await axport(['import', 'missing.ndjson']), 1)).toMatch(/missing\.ndjson/)
})
