/** The codings that a body can be sent in, the cheapest first: it is taken when the client likes several alike. */
const CODINGS = ['zstd', 'gzip'] as const

/** A coding as Accept-Encoding and Content-Encoding name it. */
export type Coding = (typeof CODINGS)[number]

/** What a client takes: the coding that suits it best, if any, and whether the body may go as it is. */
export interface Acceptance {
  coding: Coding | undefined
  plain: boolean
}

/**
 * Reads an Accept-Encoding header (RFC 9110 §12.5.3). Pure. A coding that is not named takes the weight of
 * "*"; a body as it is ("identity") is fine unless it is refused, and then only when a coding of ours is
 * taken: somebody who refuses everything gets the body as it is, and not an error. An element that can not
 * be read is as if it were not there.
 */
export function readAcceptEncoding(header: string | null): Acceptance {
  if (!header) return { coding: undefined, plain: true }
  const weights = readWeights(header)
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0
  let coding: Coding | undefined
  for (const candidate of CODINGS) {
    if (weightOf(candidate) > (coding ? weightOf(coding) : 0)) coding = candidate
  }
  if (!coding) return { coding, plain: true }
  // Not named, a body as it is comes last; named, it may come first.
  const identity = weights.get('identity')
  if (identity !== undefined && identity > weightOf(coding)) return { coding: undefined, plain: true }
  return { coding, plain: (identity ?? weights.get('*')) !== 0 }
}

/** One element: a coding and, perhaps, its weight, at most three digits after the point (RFC 9110 §12.4.2). */
const ELEMENT = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*;[ \t]*q[ \t]*=[ \t]*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

function readWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const element of header.split(',')) {
    const [, name, weight = '1'] = ELEMENT.exec(element.trim()) ?? []
    if (name === undefined) continue
    const coding = name.toLowerCase()
    // RFC 9110 §8.4.1.3: the old name.
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, Number(weight))
  }
  return weights
}
