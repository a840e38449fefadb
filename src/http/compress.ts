import { type Answer, COMPRESSIBLE } from '../answers.ts'
import { type Coding, readAcceptEncoding } from './accept-encoding.ts'

/**
 * Bytes from which a body is worth it. A smaller one travels in one packet either way, headers and all, and
 * compressing costs 10 µs however small it is. A single record (some 500 bytes) stays below, a page of four above.
 */
const THRESHOLD = 1400

/**
 * A page of 100 sample records, 48,800 bytes: CPU time and size (Bun 1.4.4, medians).
 *
 *     gzip  libdeflate 1  0.14 ms   8,570      zlib 1  0.09 ms  11,120     zstd 1  0.08 ms  8,270
 *           libdeflate 4  0.23 ms   8,110      zlib 3  0.21 ms   8,340          2  0.09 ms  8,210
 *           libdeflate 6  0.33 ms   7,560      zlib 6  0.38 ms   7,490          3  0.10 ms  8,030
 *
 * In the pool of threads the same work costs 0.05 to 0.09 ms more, for handing it over: more than there is to gain.
 */
const COMPRESS: Record<Coding, (body: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>> = {
  gzip: body => Bun.gzipSync(body, { library: 'libdeflate', level: 1 }),
  zstd: body => new Uint8Array(Bun.zstdCompressSync(body, { level: 1 })),
}

/**
 * Body and headers of an answer as the client likes them: in a coding that it accepts (`acceptEncoding` is its
 * header), where the answer may be compressed and that is worth it. Pure. Used for HEAD as for GET, so that both say the
 * same.
 *
 * BREACH needs a secret beside something an attacker chooses in one compressed body: here are no secrets
 * of ours, and nothing of a request is repeated but its page and offset.
 */
export function compressed(
  { headers, body }: Answer,
  acceptEncoding: string | null,
): Pick<Answer, 'headers' | 'body'> {
  if (headers.vary !== COMPRESSIBLE.vary) return { headers, body }
  const { coding, plain } = readAcceptEncoding(acceptEncoding)
  if (!coding || (plain && Buffer.byteLength(body) < THRESHOLD)) return { headers, body }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return { headers: { ...headers, 'content-encoding': coding }, body: COMPRESS[coding](bytes) }
}
