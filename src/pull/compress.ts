import { pipeline } from 'node:stream/promises'
import { createGzip, createZstdCompress } from 'node:zlib'
import type { Write } from '../files.ts'

/** By the ending of a file's name. */
const ENGINES = { gz: createGzip, zst: createZstdCompress }

/** How an output is compressed. */
export type Compression = keyof typeof ENGINES

/** The last ending of a compressed file's name. */
export const COMPRESSED = /\.(gz|zst)$/i

/** The compression that a file's name says; undefined when the name says none. */
export function compressionOf(path: string): Compression | undefined {
  const [, ending = ''] = COMPRESSED.exec(path.toLowerCase()) ?? []
  return ending in ENGINES ? (ending as Compression) : undefined
}

/**
 * Runs work whose bytes reach `write` compressed, as one stream: many readers stop behind the first of several.
 * Rejects with the failure of the work, or of `write`.
 */
export async function compressing(
  compression: Compression,
  write: Write,
  work: (write: Write) => Promise<void>,
): Promise<void> {
  const engine = ENGINES[compression]()
  const sent = pipeline(engine, async (packed: AsyncIterable<Uint8Array>) => {
    for await (const bytes of packed) await write(bytes)
  })
  sent.catch(() => {})
  const put = (bytes: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      engine.write(bytes, error => (error ? reject(error) : resolve()))
    })
  try {
    await work(put)
    engine.end()
  } catch (error) {
    // Where `write` failed, the engine has ended with that error already, and this one changes nothing.
    engine.destroy(error as Error)
  }
  await sent
}
