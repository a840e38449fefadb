import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { cleanUp } from '../support/executable.ts'
import { assessment, educator, organization, proctor, product, removal } from '../support/fixtures.ts'
import { program, requires } from '../support/requires.ts'
import { startNightlyScript, startPythonSample } from './support/copy-keeper.ts'
import { CopyWeek } from './support/copy-week.ts'

setDefaultTimeout(300_000)

afterAll(cleanUp)

const PSQL = program('psql', 'postgresql-client-15')

/** The programs that keep a copy, and what each needs. */
const KEEPERS = [
  { name: 'the script of docs/integrate/sync.md', start: startNightlyScript, needs: [PSQL] },
  {
    name: 'docs/integrate/examples/every_page.py',
    start: startPythonSample,
    needs: [program('python3')],
  },
]

/** The nights of the week. Each has the usual changes of a day before. */
const NIGHTS: ((week: CopyWeek) => Promise<void>)[] = [
  async function theFirst(week) {
    await week.expectEqual()
  },
  async function renames(week) {
    await week.import(
      educator(501, { name: 'Ana Newname', last_name: 'Newname', seid: 'NEW-501' }),
      proctor(71, 'Paula Newname'),
      organization(10, 'Newly named district'),
      product(1, 'Newly named product'),
    )
    await week.expectEqual()
  },
  async function deletionsAndDaysOfThePast(week) {
    const ids = await week.ids()
    const [first = 0, second = 0, ...others] = ids
    await week.import(
      assessment(8001, { user_id: 502, certified_at: '1999-01-01T12:00:00Z' }),
      assessment(8002, { user_id: 502, certified_at: '2026-11-24T23:59:59Z' }),
      assessment(first, { user_id: 503, certified_at: '2001-01-01T12:00:00Z' }),
      assessment(second, { user_id: 503, certified_at: '2026-11-25T12:00:00Z' }),
      ...others.slice(0, 10).map(id => removal('assessment', id)),
    )
    await week.expectEqual()
  },
  async function anErasure(week) {
    await week.import(
      educator(601, { name: 'Vera Vanish', email: 'vera@example.org' }),
      proctor(602, 'Paul Vanish'),
      assessment(8003, { user_id: 601 }),
      assessment(8004, { proctor_id: 602 }),
    )
    await week.expectEqual()
    expect(week.filesWith('vera@example.org')).not.toBeEmpty()
    await week.operator('erase', '--yes', '601')
    await week.operator('erase', '--yes', '602')
    await week.expectEqual()
    for (const text of ['Vanish', 'vera@example.org']) expect(week.filesWith(text)).toEqual([])
    expect(JSON.stringify(await week.keeper.copy())).not.toContain('Vanish')
  },
  async function aRotatedSecret(week) {
    const secret = await week.rotate()
    await week.expectFailure()
    week.learn(secret)
    await week.anyDay()
    await week.expectEqual()
  },
  async function aBrokenProxy(week) {
    week.proxy.setNetwork({ is: 'closing' })
    await week.expectFailure()
    await week.anyDay()
    const budgets = [6000]
    week.proxy.setNetwork({ is: 'cutting', after: () => budgets.shift() ?? 0 })
    await week.expectFailure()
    expect(budgets).toEqual([])
    week.proxy.setNetwork({ is: 'normal' })
    await week.expectEqual()
  },
  async function aNarrowedScope(week) {
    await week.removeOrganization(13)
    const { keeper } = week
    const options = keeper.allow?.((await week.expectFailure()).stderr)
    await week.expectEqual(options)
    expect(await keeper.copy()).not.toContainEqual(expect.objectContaining({ organization_id: 13 }))
  },
]

for (const { name, start, needs } of KEEPERS)
  requires(...needs).test(
    `${name} has a copy equal to the database on each morning of a week, and removes nothing by mistake`,
    async () => {
      await using week = await CopyWeek.start(start)
      for (const night of NIGHTS) {
        await week.anyDay()
        await night(week)
      }
    },
  )

requires(PSQL).describe('the script of docs/integrate/sync.md', () => {
  type NightlyScript = Awaited<ReturnType<typeof startNightlyScript>>

  async function startWeek() {
    const started = Promise.withResolvers<NightlyScript>()
    const week = await CopyWeek.start(async service => {
      started.resolve(await startNightlyScript(service))
      return await started.promise
    })
    return { week, keeper: await started.promise }
  }

  /** The night that adds the assessment `id` ends at a program, and the next one finishes it. */
  async function expectFinished(
    week: CopyWeek,
    keeper: NightlyScript,
    program: 'psql' | 'rm' | 'mv',
    id = 8001,
  ) {
    await week.import(assessment(id))
    keeper.failAt(program)
    expect((await week.night()).code).toBe(9)
    keeper.failAt()
    // Added and removed again: the comparison of the next night alone would not show it.
    await week.import(removal('assessment', id), assessment(id + 1))
    await week.expectEqual()
    expect(await keeper.copy()).not.toContainEqual(expect.objectContaining({ id }))
    expect(readdirSync(keeper.folder).sort()).toEqual(['apply.sql', 'nightly.sh', 'old', 'secret'])
  }

  test.each(['psql', 'mv'] as const)(
    'finishes the first night, which ended at %s, before it reads again',
    async program => {
      const { week, keeper } = await startWeek()
      await using _ = week
      await expectFinished(week, keeper, program)
    },
  )

  test('finishes later nights, which ended at psql, rm and mv, before it reads again', async () => {
    const { week, keeper } = await startWeek()
    await using _ = week
    await week.expectEqual()
    for (const [at, program] of (['psql', 'rm', 'mv'] as const).entries())
      await expectFinished(week, keeper, program, 8001 + 2 * at)
  })

  test('removes nothing with other filters, given by mistake', async () => {
    await using week = await CopyWeek.start(startNightlyScript)
    await week.expectEqual()
    const before = await week.keeper.copy()
    const { code, stderr } = await week.night(['--organization-ids', '10'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('would be removed, more than 10%')])
    expect(await week.keeper.copy()).toEqual(before)
    await week.expectEqual()
  })
})
