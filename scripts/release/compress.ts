import { createReadStream, createWriteStream } from 'node:fs'
import { cpus } from 'node:os'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'

/** Compresses a file by zstd at a level from 1 to 19, on all cores. */
export async function compress(file: string, into: string, level: number): Promise<void> {
  const params = {
    [constants.ZSTD_c_compressionLevel]: level,
    [constants.ZSTD_c_nbWorkers]: cpus().length,
    [constants.ZSTD_c_checksumFlag]: 1,
  }
  await pipeline(createReadStream(file), createZstdCompress({ params }), createWriteStream(into))
}
