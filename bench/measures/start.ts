import type { Measure } from '../measured-service.ts'
import { compared } from '../rounds.ts'
import { startService } from '../service.ts'

/** The time from the start of the process to its first answer, on a current schema. */
export const start: Measure = {
  name: 'start',
  async run(world) {
    const times: number[] = []
    for (let round = 0; round < world.options.rounds; round++) {
      const service = await startService(world.executable, world.databaseUrl)
      times.push(service.startedIn)
      await service.stop()
    }
    const measure = 'start of the executable to first answer'
    return [{ measure, ...compared(times), unit: 'ms', reach: { of: 'value', atMost: 250 } }]
  },
}
