import { afterAll, describe, expect, test } from 'bun:test'
import { axport, cleanUp, shell } from '../support/executable.ts'
import { idsOf, useDatabase } from '../support/import.ts'

afterAll(cleanUp)

describe('axport sample', () => {
  const database = useDatabase()

  test('writes the same bytes every time, and axport import loads them', async () => {
    const [first, second] = await Promise.all([axport(['sample', '1000']), axport(['sample', '1000'])])
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(second.stdout).toBe(first.stdout)
    const lines = first.stdout.trimEnd().split('\n')
    expect(lines.filter(line => line.startsWith('{"type":"assessment"'))).toHaveLength(1000)
    const env = { DATABASE_URL: database.url }
    expect(await shell('"$AXPORT" sample 1000 | "$AXPORT" import -', { env })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^loaded ${lines.length - 1} lines\\n`)),
    })
    expect(await idsOf(database.sql, 'assessments')).toHaveLength(1000)
  })

  test('needs no setting and no database', async () => {
    const { stdout } = await axport(['sample', '1'], { env: { DATABASE_URL: 'nonsense' } })
    expect(stdout.match(/"type":"assessment"/g)).toHaveLength(1)
  })

  test.each([100, 1_000_000])(
    'with %d assessments ends without an error when its reader closes the pipe',
    async count => {
      const { stdout, stderr } = await shell(`"$AXPORT" sample ${count} | head -1`)
      expect(JSON.parse(stdout)).toMatchObject({ type: 'organization' })
      expect(stderr).toBe('')
    },
  )
})
