import { type ImportOptions, type ImportResult, importSource, type Progress } from '../import/import.ts'
import type { RecordSource } from '../import/record.ts'
import { RejectsFile } from '../import/rejects-file.ts'
import type { Limit } from '../import/sync.ts'
import { withCurrentSchema } from './with-database.ts'

/** The options of axport import that say what is loaded of a source. */
export interface ImportCall {
  dryRun?: boolean
  rejects?: string
  maxRejected?: Limit
  sync?: true
  maxRemoved?: Limit
}

/**
 * Imports a source into DATABASE_URL, and writes the file of --rejects.
 * @param onProgress is told "tidying" when all is there for good
 * @throws Failure, as importSource() and withCurrentSchema()
 */
export async function importOnce(
  source: RecordSource,
  call: ImportCall,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<ImportResult> {
  const rejects = call.rejects === undefined ? undefined : new RejectsFile(call.rejects)
  // Whoever ends it does not wait for what is under way, and no draft is left behind.
  signal.addEventListener('abort', () => rejects?.discard())
  const onStep = (step: Progress) => {
    onProgress(step)
    // Whatever happens from here on, the rejects belong to what was loaded.
    if (step.phase === 'tidying') rejects?.keep()
  }
  try {
    const options = { ...importOptions(call, rejects), signal }
    const result = await withCurrentSchema(({ sql }) => importSource(sql, source, onStep, options))
    if (result.loaded) rejects?.keep()
    return result
  } finally {
    rejects?.discard()
  }
}

function importOptions(
  { dryRun, maxRejected, sync, maxRemoved }: ImportCall,
  rejects: RejectsFile | undefined,
): ImportOptions {
  return {
    ...(dryRun && { dryRun }),
    ...(rejects && { onReject: reject => rejects.write(reject) }),
    ...(maxRejected && { maxRejected }),
    ...(sync && { sync: maxRemoved ?? { percent: 10 } }),
  }
}
