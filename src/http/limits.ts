/** What one client may take of the service. Times in milliseconds, sizes in bytes. */
export interface Limits {
  /** Requests that are answered at the same time: 503 past it. */
  requests: number
  /** Of a body; only the token endpoint reads one: 413 past it. */
  bodySize: number
  /** For all of a body: 408 past it. */
  bodyTime: number
  /** Request line and headers together: 431, by Bun itself. */
  headerSize: number
  /** Of a connection on which nothing moves, also because its client does not read: it is closed. */
  idle: number
  /** The reference page: there, there with forms to try requests, or not. */
  docs: 'on' | 'try' | 'off'
}
