import { databaseUrl } from '../config.ts'
import { Failure, Interrupted } from '../errors.ts'
import { FeedView } from '../http/admin/feed-view.ts'
import { platformSource } from '../import/platform/source.ts'
import { RemovalsRefused } from '../import/removals.ts'
import { Interruption } from '../interruption.ts'
import { describeError, LOST } from '../postgres/describe-error.ts'
import { within } from '../within.ts'
import { tell } from './changing.ts'
import { type FeedCall, readPlatform } from './feed.ts'
import {
  BadLines,
  describeReasons,
  type Ended,
  IMPORT,
  type ImportCall,
  ImportRun,
  loadedLines,
} from './import-run.ts'
import { SHUTDOWN_MS } from './limits.ts'
import { print } from './output.ts'
import { surviveCuts, terminated } from './process.ts'
import { startAdmin } from './serving.ts'
import { BUILD } from './version.ts'

/** An interrupted round has so long to close its connections, or to find out what became of its COMMIT. */
const ABORT_TIMEOUT_MS = 10_000

/** A longer timer is split: Bun runs one of more than 2^31 - 1 ms at once. */
const LONGEST_TIMER_MS = 2 ** 30

/**
 * Repeats an import from the platform until a signal, and prints a line for each round. A round begins `period` seconds
 * after the start of the last one, or at once if that took longer; earlier after a failure. Each round opens the
 * databases and reads the URL and the queries again.
 * @throws Failure for what no later round can correct: a wrong setting, a URL or queries that cannot be read
 */
export async function importEvery(period: number, call: RoundCall): Promise<void> {
  const { feed } = readPlatform(call)
  databaseUrl()
  const view = new FeedView(feed, BUILD)
  const admin = startAdmin(view)
  const stop = new Stop(terminated(), () => view.stopping())
  try {
    for (let failures = 0; !stop.isRequested; ) {
      const start = performance.now()
      const report = await runRound(new Round(call, view), stop, SHUTDOWN_MS)
      failures = report.hasFailed ? failures + 1 : 0
      const taken = (performance.now() - start) / 1000
      const pause = stop.isRequested ? 0 : pauseAfter(failures, period, taken)
      await printRound(report, pause, call.json)
      for (let left = pause * 1000; left > 0 && !stop.isRequested; left -= LONGEST_TIMER_MS)
        await within(Math.min(left, LONGEST_TIMER_MS), stop.requested(), undefined)
    }
  } finally {
    await admin?.stop()
  }
}

/**
 * Seconds until the next round: the rest of the period; after failures 1, 2, 4, … up to the period, where the period
 * counts as 10 at least and 300 at most.
 * @param taken seconds since the start of the last round
 */
function pauseAfter(failures: number, period: number, taken: number): number {
  if (failures === 0) return Math.max(0, period - taken)
  return Math.min(2 ** Math.min(failures - 1, 20), Math.max(period, 10), 300)
}

/** The request to end, by a signal. */
class Stop {
  isRequested = false
  #resolve = () => {}

  constructor(signalled: Promise<unknown>, onRequest: () => void) {
    void signalled.then(() => {
      this.isRequested = true
      onRequest()
      this.#resolve()
    })
  }

  /** A fresh promise for each wait, one at a time: racing one long-lived promise would leak a reaction per wait. */
  requested(): Promise<void> {
    if (this.isRequested) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resolve = resolve
    return promise
  }
}

/** Runs a round to its end; after a signal for `timeoutMs` at most. What is not being committed by then is undone. */
async function runRound(round: Round, stop: Stop, timeoutMs: number): Promise<RoundReport> {
  const ended = round.report()
  await Promise.race([ended, stop.requested()])
  const report = await within(timeoutMs, ended, undefined)
  if (report) return report
  round.abort()
  const error = 'interrupted, and the databases do not answer'
  return (
    (await within(ABORT_TIMEOUT_MS, ended, undefined)) ?? {
      hasFailed: true,
      text: `failed: ${error}`,
      object: { loaded: round.isLoaded, error },
    }
  )
}

async function printRound(
  { hasFailed, text, object }: RoundReport,
  pause: number,
  json?: true,
): Promise<void> {
  const time = new Date().toISOString()
  const next = Math.round(pause * 1000) / 1000
  const line = json
    ? JSON.stringify({ time, ...object, ...(hasFailed && { next_attempt_in: next }) })
    : `${time} ${text}${hasFailed && pause > 0 ? `; the next attempt is in ${next} s` : ''}`
  await print(`${line}\n`)
}

type RoundCall = ImportCall & FeedCall

/** The result of a round, for people and as JSON. */
interface RoundReport {
  hasFailed: boolean
  text: string
  object: object
}

/** One import from the platform. */
class Round {
  private readonly start = performance.now()
  private readonly interruption = new Interruption()
  private readonly run: ImportRun

  constructor(
    private readonly call: RoundCall,
    private readonly view: FeedView,
  ) {
    this.run = new ImportRun(call)
  }

  /** Never rejects: an error is in the report. */
  async report(): Promise<RoundReport> {
    const { interruption } = this
    const lost = Promise.withResolvers<never>()
    let cut: Failure | undefined
    // Otherwise a statement on a lost connection could wait for ever.
    surviveCuts(() => {
      cut = new Failure(`${LOST}: ${IMPORT[interruption.commit]}`)
      lost.reject(cut)
      interruption.request()
    })
    try {
      const ended = await Promise.race([this.load(), lost.promise])
      return this.run.isLoaded === null ? this.failed(ended.failure) : this.loaded(ended)
    } catch (error) {
      const { isRequested, commit } = interruption
      if (isRequested && error !== cut) return this.failed(new Interrupted(`interrupted: ${IMPORT[commit]}`))
      // Ends the reading of the platform.
      interruption.request()
      return this.failed(error)
    } finally {
      const success = this.run.source?.feed?.lastSuccess()
      if (success !== undefined) this.view.remembers(success)
    }
  }

  /** Closes the connections; what is not being committed is undone. */
  abort(): void {
    this.interruption.request()
  }

  /** Whether the data is committed; null if that is not known. */
  get isLoaded(): boolean | null {
    return this.run.isLoaded
  }

  private load(): Promise<Ended> {
    return this.run.load(
      signal => platformSource({ ...readPlatform(this.call), signal }),
      this.interruption,
      ({ phase }) => {
        if (phase === 'waiting') process.stderr.write('waiting for another import to finish …\n')
      },
    )
  }

  private loaded({ loaded: result, failure }: Ended): RoundReport {
    const { run } = this
    const told = run.failureFields(failure)
    const seconds = this.seconds()
    const { lines: rows, rejected, unidentified } = result
    this.view.loaded({ at: Date.now() / 1000, seconds, rows, rejected, isHeld: unidentified !== undefined })
    const counts = (['inserted', 'updated', 'unchanged', 'deleted'] as const).map(kind => {
      const sum = Object.values(result.summary).reduce((all, table) => all + table[kind], 0)
      return `${sum} ${kind}`
    })
    const text = `loaded ${loadedLines(result)} rows in ${seconds} s${run.leftOut(result)}: ${counts.join(', ')}`
    return {
      hasFailed: false,
      text: [text, ...[told.error ?? [], run.textNotes(result)].flat().map(note => `note: ${note}`)].join(
        '; ',
      ),
      object: { ...run.object(result), ...told, ...this.measured() },
    }
  }

  private failed(error: unknown): RoundReport {
    const isRefused = error instanceof RemovalsRefused
    this.view.failed(isRefused)
    const { problems: [problem] = [], result } = error instanceof BadLines ? error : {}
    const all = result && result.total > 1 ? `; ${describeReasons(result.reasons)}` : ''
    const first = problem === undefined ? '' : `${all}; the first: ${problem}`
    return {
      hasFailed: true,
      text: `failed: ${describeError(tell(IMPORT, error, this.interruption.commit), 'import')}${isRefused ? ', without --every' : ''}${first}`,
      object: { ...this.run.failureObject(error), ...this.measured() },
    }
  }

  private measured(): object {
    return { since: this.run.source?.feed?.since() ?? null, seconds: this.seconds() }
  }

  private seconds(): number {
    return Math.round(performance.now() - this.start) / 1000
  }
}
