import { Admission } from '../../src/app/admission.ts'
import type { Log, ServiceContext } from '../../src/app/exchange.ts'
import { SlowRefusals } from '../../src/app/slow-refusals.ts'
import { Counters } from '../../src/counters.ts'

/** The context of a small app with a request log. It drops all log lines except those that `log` takes. */
export const serviceContext = (log: Partial<Log> = {}): ServiceContext => ({
  log: { info: () => {}, warn: () => {}, error: () => {}, ...log },
  slowMs: 1000,
  counters: new Counters(),
  admission: new Admission(1, () => 1),
  refusals: new SlowRefusals(),
  isDraining: () => false,
  onAnswered: () => {},
})
