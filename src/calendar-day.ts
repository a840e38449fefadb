/** Days that exist in every month, for which no calendar is needed. */
const ORDINARY = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/

/** Whether a text is a day of the calendar, as 2026-03-01. */
export function isDay(text: string): boolean {
  if (ORDINARY.test(text)) return true
  return /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00Z`).toJSON()?.startsWith(text) === true
}
