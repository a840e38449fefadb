// `import … with { type: 'text' }` is the text of the file; bun-types has *.txt and *.yaml.
declare module '*.sql' {
  const text: string
  export default text
}
declare module '*.md' {
  export { default } from '*.sql'
}
declare module '*.css' {
  export { default } from '*.sql'
}

// Only the part that is used: the types of npm lack `preferred`.
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | undefined> })
    /** The accepted ones of `available`, the most wanted first; `preferred` decides between equals. */
    encodings(available: readonly string[], options: { preferred: readonly string[] }): string[]
  }
}
