import { databaseUrl, setting } from '../config.ts'
import { FeedView } from '../http/admin/feed-view.ts'
import { within } from '../within.ts'
import { startAdmin } from './admin.ts'
import { Round, type RoundCall, type RoundReport } from './import-round.ts'
import { print } from './output.ts'
import { pauseAfter } from './pace.ts'
import { readPlatform } from './platform.ts'
import { terminated } from './signals.ts'
import { BUILD } from './version.ts'

/** Milliseconds for a round that is given up to let go of its databases. */
const FAREWELL = 1000

/** Milliseconds. */
const LONGEST_TIMER = 2 ** 30

/**
 * Repeats an import from the platform until a signal, with a line for each round. A round begins so many seconds after
 * the one before has begun, or at once where that took longer; after one that failed, sooner. The databases, the file
 * of the URL and the queries are opened anew each time.
 * @throws Failure for what no later round can mend: a wrong setting, a URL or queries that cannot be read
 */
export async function importEvery(seconds: number, call: RoundCall): Promise<void> {
  const { feed } = readPlatform(call)
  databaseUrl()
  const patience = setting('SHUTDOWN_TIMEOUT') * 1000
  const view = new FeedView(feed, BUILD)
  const admin = startAdmin(view)
  const end = new End(terminated(), () => view.stopping())
  try {
    for (let failures = 0; !end.isAsked; ) {
      const begun = performance.now()
      const report = await runRound(new Round(call, view), end, patience)
      failures = report.hasFailed ? failures + 1 : 0
      const pause = end.isAsked ? 0 : pauseAfter(failures, seconds, (performance.now() - begun) / 1000)
      await tell(report, pause, call.json)
      // A timer of more than 2^31 - 1 ms is due at once.
      for (let left = pause * 1000; left > 0 && !end.isAsked; left -= LONGEST_TIMER)
        await within(Math.min(left, LONGEST_TIMER), end.asked(), undefined)
    }
  } finally {
    await admin?.stop()
  }
}

/** The signal that asks the process to end. */
class End {
  isAsked = false
  #tell = () => {}

  constructor(signalled: Promise<unknown>, onAsked: () => void) {
    void signalled.then(() => {
      this.isAsked = true
      onAsked()
      this.#tell()
    })
  }

  /** For one who waits at a time: what waits for one promise all the years that a process runs is never forgotten. */
  asked(): Promise<void> {
    if (this.isAsked) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#tell = resolve
    return promise
  }
}

/** To its end; after a signal only for so many milliseconds, and what it has not committed by then is undone. */
async function runRound(round: Round, end: End, patience: number): Promise<RoundReport> {
  const ended = round.run()
  await Promise.race([ended, end.asked()])
  const report = await within(patience, ended, undefined)
  if (report) return report
  round.giveUp()
  return (
    (await within(FAREWELL, ended, undefined)) ?? {
      hasFailed: true,
      text: 'failed: interrupted, and the databases do not answer',
      object: { loaded: false, error: 'interrupted, and the databases do not answer' },
    }
  )
}

async function tell({ hasFailed, text, object }: RoundReport, pause: number, json?: true): Promise<void> {
  const time = new Date().toISOString()
  const next = Math.round(pause * 1000) / 1000
  const line = json
    ? JSON.stringify({ time, ...object, ...(hasFailed && { next_attempt_in: next }) })
    : `${time} ${text}${hasFailed && pause > 0 ? `; the next attempt is in ${next} s` : ''}`
  await print(`${line}\n`)
}
