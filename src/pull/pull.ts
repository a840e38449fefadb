import { type FileHandle, open } from 'node:fs/promises'
import { Failure } from '../errors.ts'
import { isDevice, outputPath, type Write, writeFailure } from '../files.ts'
import { writeAs } from './formats.ts'
import { pullIntoFile } from './into-file.ts'
import type { PullJob, PullObserver, PullResult } from './job.ts'
import { Changed, startOfList, walk } from './walk.ts'

/**
 * Reads the whole list into a file or a stream. A file is replaced as a whole, or stays as it was.
 * @throws Failure, which says what is kept for the next run
 */
export async function pull(job: PullJob, observer: PullObserver): Promise<PullResult> {
  const { out } = job
  if (typeof out !== 'string') return await pullIntoStream(job, out, observer)
  return isDevice(out)
    ? await pullIntoDevice(job, out, observer)
    : await pullIntoFile(job, outputPath(out), observer)
}

/** Writes asynchronously: a pipe without a reader must not keep Ctrl-C from being handled. */
async function pullIntoDevice(job: PullJob, path: string, observer: PullObserver): Promise<PullResult> {
  let file: FileHandle | undefined
  try {
    const opened = await open(path, 'w')
    file = opened
    return await pullIntoStream(job, bytes => writeAll(opened, bytes), observer)
  } catch (error) {
    throw writeFailure(error, path)
  } finally {
    await file?.close()
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten
}

async function pullIntoStream(job: PullJob, write: Write, observer: PullObserver): Promise<PullResult> {
  const position = startOfList()
  const lines = async function* () {
    for await (const batch of walk(job, position, observer)) yield batch.lines
  }
  try {
    await writeAs(job, lines(), write)
  } catch (error) {
    if (!(error instanceof Changed)) throw error
    throw new Failure(
      `the data changed while it was read, so the output is not complete (${error.message}): a pull into a file starts over by itself`,
    )
  }
  return { records: position.ids.size, resumed: 0, restarts: 0 }
}
