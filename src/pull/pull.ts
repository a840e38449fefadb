import { type FileHandle, open } from 'node:fs/promises'
import { Failure } from '../errors.ts'
import { isDevice, outputPath, type Write, writeFailure } from '../files.ts'
import { writeAs } from './formats.ts'
import { pullIntoFile } from './into-file.ts'
import type { PullJob, PullResult, Watcher } from './job.ts'
import { read } from './read.ts'
import { type Batch, Changed, startOfList } from './walk.ts'

/**
 * Reads the whole list into a file or a stream. A file comes into being as a whole, or stays what it was.
 * @throws Failure that says what is kept for the next run, where something is
 */
export async function pull(job: PullJob, watcher: Watcher): Promise<PullResult> {
  const { out } = job
  if (typeof out !== 'string') return await pullIntoStream(job, out, watcher)
  return isDevice(out)
    ? await pullIntoDevice(job, out, watcher)
    : await pullIntoFile(job, outputPath(out), watcher)
}

/** Nobody may read a pipe: what waits for that must not keep Ctrl-C from being heard. */
async function pullIntoDevice(job: PullJob, path: string, watcher: Watcher): Promise<PullResult> {
  let file: FileHandle | undefined
  try {
    const opened = await open(path, 'w')
    file = opened
    return await pullIntoStream(job, bytes => writeAll(opened, bytes), watcher)
  } catch (error) {
    throw writeFailure(error, path)
  } finally {
    await file?.close()
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten
}

async function pullIntoStream(job: PullJob, write: Write, watcher: Watcher): Promise<PullResult> {
  const position = startOfList()
  try {
    await writeAs(job, linesOf(read(job, position, watcher)), write)
  } catch (error) {
    if (!(error instanceof Changed)) throw error
    throw new Failure(
      `the data changed while it was read, what was written is not all (${error.message}): a pull into a file starts over by itself`,
    )
  }
  return { records: position.ids.size, resumed: 0, restarts: 0 }
}

async function* linesOf(batches: AsyncIterable<Batch>): AsyncGenerator<Uint8Array> {
  for await (const { lines } of batches) yield lines
}
