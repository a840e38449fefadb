import { expect, setDefaultTimeout } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder } from '../support/executable.ts'
import { postToken } from '../support/http.ts'
import { dashboardQueries } from '../support/monitoring.ts'
import { program, requires } from '../support/requires.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(60_000)

const world = useServedWorld({ ADMIN_PORT: '0' })

requires(program('promtool', 'prometheus')).test(
  'promtool finds nothing wrong with the metrics',
  async () => {
    const served = await world.serve()
    await world.list(served)
    await postToken(served.url, world.credentials)
    const metrics = await fetch(`${served.admin}/metrics`)
    const check = Bun.spawn(['promtool', 'check', 'metrics'], { stdin: await metrics.blob(), stderr: 'pipe' })
    expect([await check.exited, await new Response(check.stderr).text()]).toEqual([0, ''])
    await served.end()
  },
)

requires(program('promtool', 'prometheus')).test(
  'promtool can read each query of the dashboard',
  async () => {
    const file = join(emptyFolder(), 'queries.yml')
    const rules = dashboardQueries().map((expr, at) => ({
      record: `query:${at}`,
      expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$', ''),
    }))
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    const run = Bun.spawn(['promtool', 'check', 'rules', file], { stdout: 'pipe', stderr: 'pipe' })
    const output = (await new Response(run.stdout).text()) + (await new Response(run.stderr).text())
    expect([await run.exited, output]).toEqual([0, expect.stringContaining(`${rules.length} rules found`)])
  },
)

requires(program('promtool', 'prometheus')).test(
  'promtool accepts the published alerts, and each alert fires under its condition and not before',
  async () => {
    for (const args of [
      ['check', 'rules', 'alerts.yml'],
      ['test', 'rules', 'alerts.test.yml'],
      ['test', 'rules', 'alerts.week.test.yml'],
    ]) {
      const cwd = join(import.meta.dir, '..', '..', 'docs', 'operate')
      const run = Bun.spawn(['promtool', ...args], { cwd, stdout: 'pipe', stderr: 'pipe' })
      const output = (await new Response(run.stdout).text()) + (await new Response(run.stderr).text())
      expect([await run.exited, output]).toEqual([0, expect.stringContaining('SUCCESS')])
    }
  },
)
