import { factsOf, withFacts } from '../answers.ts'
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
 * A successful answer of the API as the client likes it: in a coding that it accepts, where that is worth
 * it. It says that this depended on Accept-Encoding in any case. Called for HEAD as for GET, so that both
 * say the same. Errors are a few hundred bytes and never come here.
 *
 * BREACH needs a secret beside something an attacker chooses in one compressed body: here are no secrets
 * of ours, and nothing of a request is repeated but its page and offset.
 */
export async function compressed(request: Request, answer: Response): Promise<Response> {
  answer.headers.append('vary', 'Accept-Encoding')
  const { coding, plain } = readAcceptEncoding(request.headers.get('accept-encoding'))
  if (!coding || answer.headers.has('content-encoding')) return answer
  const { status, headers } = answer
  const body = new Uint8Array(await answer.arrayBuffer())
  if (plain && body.length < THRESHOLD)
    return withFacts(new Response(body, { status, headers }), factsOf(answer))
  const sent = COMPRESS[coding](body)
  headers.set('content-encoding', coding)
  headers.set('content-length', String(sent.length))
  return withFacts(new Response(sent, { status, headers }), factsOf(answer))
}
