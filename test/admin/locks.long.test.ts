import { expect, test } from 'bun:test'
import { useServedWorld, whileBlocked } from '../support/served.ts'
import { until } from '../support/until.ts'

const world = useServedWorld({ ADMIN_PORT: '0' })

test('/ready warns of a lock for which pages wait, also while they hold all connections', async () => {
  const running = await world.serve([], { STATEMENT_TIMEOUT: '2', DATABASE_POOL_SIZE: '1' })
  const locks = async () => {
    const answer = await fetch(`${running.admin}/ready`)
    const { checks } = (await answer.json()) as { checks: { check: string; status: string }[] }
    return { code: answer.status, ...checks.find(({ check }) => check === 'locks') }
  }
  expect(await locks()).toEqual({ code: 200, check: 'locks', status: 'ok' })
  await whileBlocked(world.sql, async waiting => {
    const pages = [0, 1].map(async () => (await world.list(running)).status)
    await waiting(1)
    await until('it warns', async () => (await locks()).status === 'warning')
    const detail = expect.stringMatching(
      /^process \d+ of Postgres locks export_records, or waits to; pages wait for it$/,
    )
    expect(await locks()).toMatchObject({ code: 200, detail })
    expect(await Promise.all(pages)).toEqual([504, 504])
  })
  await until('the warning ends', async () => (await locks()).status === 'ok')
  await running.end()
})
