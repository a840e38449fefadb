import { Interrupted, TransientFailure } from '../errors.ts'
import type { FeedView } from '../http/admin/feed-view.ts'
import type { ImportResult, Progress } from '../import/import.ts'
import { platformSource } from '../import/platform/source.ts'
import type { RecordSource } from '../import/record.ts'
import { describeError } from './describe-error.ts'
import {
  type Called,
  describeLeftOut,
  loadedOf,
  notesOn,
  outcomeOf,
  problemsBehind,
  requireLoaded,
  troubleOf,
} from './import-report.ts'
import { type ImportCall, importOnce } from './import-run.ts'
import { surviveCuts } from './last-resort.ts'
import { type FromPlatform, readPlatform } from './platform.ts'

export type RoundCall = ImportCall & FromPlatform & Called

/** What came of a round, for people and as JSON. */
export interface RoundReport {
  hasFailed: boolean
  text: string
  object: object
}

/** One import from the platform, of several in a process. */
export class Round {
  private readonly begun = performance.now()
  private readonly controller = new AbortController()
  private source: RecordSource | undefined
  private isLoaded = false
  private isGivenUp = false

  constructor(
    private readonly call: RoundCall,
    private readonly view: FeedView,
  ) {}

  /** Runs it to its end; whatever goes wrong is in the report. */
  async run(): Promise<RoundReport> {
    const { promise: lost, reject } = Promise.withResolvers<never>()
    // Whoever waits for the database then would wait for ever.
    surviveCuts({ error: () => reject(new TransientFailure('the connection to the database was lost')) })
    try {
      return this.loaded(await Promise.race([this.load(), lost]))
    } catch (error) {
      this.controller.abort()
      return this.failed(this.isGivenUp ? new Interrupted(this.left()) : error)
    } finally {
      const success = this.source?.feed?.lastSuccess()
      if (success !== undefined) this.view.remembers(success)
    }
  }

  /** Lets go of the databases: what is not committed is undone. */
  giveUp(): void {
    this.isGivenUp = true
    this.controller.abort()
  }

  private left(): string {
    return this.isLoaded ? 'interrupted when all was loaded' : 'interrupted: nothing was loaded'
  }

  private async load(): Promise<ImportResult> {
    const { signal } = this.controller
    this.source = platformSource({ ...readPlatform(this.call), signal })
    return await importOnce(this.source, this.call, signal, step => this.show(step))
  }

  private show({ phase }: Progress): void {
    if (phase === 'tidying') this.isLoaded = true
    if (phase === 'waiting') process.stderr.write('waiting for another import to finish …\n')
  }

  private loaded(result: ImportResult): RoundReport {
    const { call, source } = this
    const loaded = requireLoaded(result, { ...call, unit: 'row' })
    const notes = notesOn(loaded, source?.notes() ?? [])
    this.view.loaded({ at: Date.now() / 1000, seconds: this.seconds(), rows: loaded.lines })
    return {
      hasFailed: false,
      text: [this.described(loaded), ...notes.map(note => `note: ${note}`)].join('; '),
      object: { ...outcomeOf(loaded, notes, call), ...this.measured() },
    }
  }

  private described(result: ImportResult & { loaded: true }): string {
    const kinds = ['inserted', 'updated', 'unchanged', 'deleted'] as const
    const counts = kinds.map(kind => {
      const sum = Object.values(result.summary).reduce((all, table) => all + table[kind], 0)
      return `${sum} ${kind}`
    })
    const left = describeLeftOut(result, this.call)
    return `loaded ${loadedOf(result)} rows in ${this.seconds()} s${left}: ${counts.join(', ')}`
  }

  private failed(error: unknown): RoundReport {
    this.view.failed()
    const [problem] = problemsBehind(error)
    const first = problem === undefined ? '' : `; the first: ${problem}`
    const trouble = troubleOf(error, this.isLoaded, this.source?.notes() ?? [])
    return {
      hasFailed: true,
      text: `failed: ${describeError(error, 'import')}${first}`,
      object: { ...trouble, ...this.measured() },
    }
  }

  private measured(): object {
    return { since: this.source?.feed?.since() ?? null, seconds: this.seconds() }
  }

  private seconds(): number {
    return Math.round(performance.now() - this.begun) / 1000
  }
}
