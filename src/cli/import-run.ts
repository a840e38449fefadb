import type { Limit } from '../import/changes.ts'
import { type ImportOptions, type ImportResult, importSource, type Progress } from '../import/import.ts'
import type { RecordSource } from '../import/record.ts'
import { RejectsFile } from '../import/rejects.ts'
import { StatusLine } from './progress.ts'
import { withCurrentSchema } from './with-database.ts'

/** The options of axport import for every source. */
export interface ImportCall {
  dryRun?: boolean
  rejects?: string
  maxRejected?: Limit
  sync?: true
  maxRemoved?: Limit
  json?: true
}

/**
 * Imports a source into DATABASE_URL, and writes the file of --rejects.
 * @param onProgress gets the phase "tidying" once the data is committed
 * @throws Failure, as importSource() and withCurrentSchema()
 */
export async function importOnce(
  source: RecordSource,
  { dryRun, rejects: path, maxRejected, sync, maxRemoved }: ImportCall,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<ImportResult> {
  const rejects = path === undefined ? undefined : new RejectsFile(path)
  // The process may end before the import does: no draft of the file may be left behind.
  signal.addEventListener('abort', () => rejects?.discard())
  const onStep = (step: Progress) => {
    onProgress(step)
    // From here on the rejects belong to committed data.
    if (step.phase === 'tidying') rejects?.keep()
  }
  const options: ImportOptions = {
    ...(dryRun && { dryRun }),
    ...(rejects && { onReject: reject => rejects.write(reject) }),
    ...(maxRejected && { maxRejected }),
    ...(sync && { sync: maxRemoved ?? { percent: 10 } }),
    signal,
  }
  try {
    const result = await withCurrentSchema(({ sql }) => importSource(sql, source, onStep, options))
    if (result.loaded) rejects?.keep()
    return result
  } finally {
    rejects?.discard()
  }
}

/** After this time without a first step, a line says why. */
const BUSY_MS = 2000

const STEPS = {
  checking: 'checking …',
  indexing: 'building indexes …',
  tidying: 'loaded, gathering statistics …',
}

/** The progress of an import on standard error. */
export class ImportProgress {
  /** The data is committed. */
  isLoaded = false
  private readonly status = new StatusLine()
  private readonly busy = setTimeout(
    () => this.status.say('waiting for the database, which is busy with another command …'),
    BUSY_MS,
  )

  show(progress: Progress): void {
    clearTimeout(this.busy)
    const { status } = this
    if (progress.phase === 'tidying') this.isLoaded = true
    if (progress.phase === 'waiting') status.say('waiting for another import to finish …')
    else if (progress.phase === 'reading') {
      const { bytes, size, lines } = progress
      status.showProgress('reading', bytes, size, 'lines', { counted: lines })
    } else if (progress.phase === 'loading' || progress.phase === 'rendering')
      status.showProgress(progress.phase, progress.done, progress.total, 'assessments')
    else {
      const text = STEPS[progress.phase]
      status.show(() => text)
    }
  }

  end(): void {
    clearTimeout(this.busy)
    this.status.clear()
  }
}
