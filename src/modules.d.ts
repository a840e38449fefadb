// `import … with { type: 'file' }` is the path of a file, which is in the executable after compiling.
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

// `import … with { type: 'text' }` is the text of the file.
declare module '*.sql' {
  const text: string
  export default text
}

declare module '*.txt' {
  const text: string
  export default text
}

declare module '*.md' {
  const text: string
  export default text
}

declare module '*.yaml' {
  const value: unknown
  export default value
}

declare module '*.css' {
  const text: string
  export default text
}

declare module '*.browser.js' {
  const text: string
  export default text
}

// Only the part that is used: the types of npm lack `preferred`.
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | undefined> })
    /** The accepted ones of `available`, the most wanted first; `preferred` decides between equals. */
    encodings(available: readonly string[], options: { preferred: readonly string[] }): string[]
  }
}
