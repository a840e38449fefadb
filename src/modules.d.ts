// What `import … with { type: 'file' }` gives: the path of a file, inside the executable when compiled.
declare module '*.wasm' {
  const path: string
  export default path
}

declare module '*.data' {
  const path: string
  export default path
}

declare module '*.tar.gz' {
  const path: string
  export default path
}

// What `import … with { type: 'text' }` gives: the text itself.
declare module '*.sql' {
  const text: string
  export default text
}

declare module '*.txt' {
  const text: string
  export default text
}

declare module '*.css' {
  const text: string
  export default text
}

declare module '*.browser.js' {
  const text: string
  export default text
}

// The part of the library that is used: the types that npm has do not know of `preferred`.
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | undefined> })
    /** Those of `available` that the client takes, the one it likes best first; `preferred` decides between equals. */
    encodings(available: readonly string[], options: { preferred: readonly string[] }): string[]
  }
}
