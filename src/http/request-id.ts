/** Letters, digits and what is common in ids of traces: nothing that could break a log, a header or a page. */
const SANE = /^[A-Za-z0-9._-]{1,64}$/

/** The form of our own tokens and secrets, which a client may put in the wrong place. */
const CREDENTIAL = /^[A-Za-z0-9]{43}$/

/** The id of a request: the one it came with in X-Request-Id when that is sane, or one of our own. */
export function requestId(given: string | null): string {
  return given !== null && SANE.test(given) && !CREDENTIAL.test(given) ? given : crypto.randomUUID()
}
