/** The values of target_session_attrs, as libpq has them. */
export const WANTED = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const
export type Wanted = (typeof WANTED)[number]

/** What a server says of itself. */
export interface Session {
  /** pg_is_in_recovery() */
  isStandby: boolean
  /** transaction_read_only: true on every standby, and where default_transaction_read_only says so. */
  isReadOnly: boolean
}

export function isWanted(text: string): text is Wanted {
  return WANTED.some(value => value === text)
}

/** Whether a server will do. Any will for prefer-standby, which is a matter of order alone. */
export function willDo(wanted: Wanted, { isStandby, isReadOnly }: Session): boolean {
  switch (wanted) {
    case 'read-write':
      return !isReadOnly
    case 'read-only':
      return isReadOnly
    case 'primary':
      return !isStandby
    case 'standby':
      return isStandby
    case 'any':
    case 'prefer-standby':
      return true
  }
}
