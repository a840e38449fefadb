import { Admission } from '../../src/app/admission.ts'
import type { Log, Monitor } from '../../src/app/request-log.ts'
import { SlowRefusals } from '../../src/app/slow-refusals.ts'
import { Counters } from '../../src/counters.ts'

/** The monitor of a small app with a request log. It drops all log lines except those that `log` takes. */
export const monitorWith = (log: Partial<Log> = {}): Monitor => ({
  log: { info: () => {}, warn: () => {}, error: () => {}, ...log },
  slowMs: 1000,
  counters: new Counters(),
  admission: new Admission(1, () => 1),
  refusals: new SlowRefusals(),
  isDraining: () => false,
  onAnswered: () => {},
})
