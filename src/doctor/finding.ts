/** What one check found. `wrong` makes the command fail; `warning` is worth a look. */
export interface Finding {
  check: string
  status: 'ok' | 'warning' | 'wrong' | 'skipped'
  /** What is so, and where it is not well, what to do. */
  detail: string
}

/** The four outcomes of a check, each with its detail. */
export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail })
export const warning = (check: string, detail: string): Finding => ({ check, status: 'warning', detail })
export const wrong = (check: string, detail: string): Finding => ({ check, status: 'wrong', detail })
export const skipped = (check: string, detail: string): Finding => ({ check, status: 'skipped', detail })
