import type { BodyLimits } from '../oauth/body.ts'

/** What one client may take of the service. Sizes in bytes. */
export interface Limits extends BodyLimits {
  /** Requests that are answered at the same time: 503 past it. */
  requests: number
  /** Request line and headers together: 431, by Bun itself. */
  headerSize: number
  /** Of a connection without traffic, including when its client does not read: it is closed. */
  idleMs: number
  /** Whether there is a page /docs. */
  docs: 'on' | 'off'
}
