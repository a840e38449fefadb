import { expect, setDefaultTimeout } from 'bun:test'
import { postToken } from '../support/http.ts'
import { program, requires } from '../support/requires.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(60_000)

const world = useServedWorld({ ADMIN_PORT: '0' })

requires(program('promtool', 'prometheus')).test(
  'promtool finds nothing wrong with the metrics',
  async () => {
    for (const args of [[], ['--workers', '2']]) {
      const served = await world.serve(args)
      await world.list(served)
      await postToken(served.url, world.credentials)
      const metrics = await fetch(`${served.admin}/metrics`)
      const check = Bun.spawn(['promtool', 'check', 'metrics'], {
        stdin: await metrics.blob(),
        stderr: 'pipe',
      })
      expect([await check.exited, await new Response(check.stderr).text()]).toEqual([0, ''])
      await served.end()
    }
  },
)
