/** The part of the library that is used; the types that npm has do not know of `preferred`. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | undefined> })
    /** Those of `available` that the client takes, the one it likes best first; `preferred` decides between equals. */
    encodings(available: readonly string[], options: { preferred: readonly string[] }): string[]
  }
}
