/** Readers of the values of settings: an Error's message completes "NAME …". */

/** Any text. */
export const text = (text: string) => text

/** Whether a text may be the path of a file: no URL, and nothing with a user in it. */
export const isPath = (text: string) => !/:\/\/|@/.test(text)

/** @throws Error for what is no path */
export const filePath = (text: string) => {
  if (!isPath(text))
    throw new Error('must be the path of a file: a URL belongs into the setting without _FILE')
  return text
}

/** The reader of a whole number; throws Error for any other text, and for a number out of its bounds. */
export const wholeNumber = (least: number, most: number) => (text: string) => {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most)) throw new Error(`must be a whole number from ${least} to ${most}`)
  return value
}

/** The reader of seconds, which returns milliseconds; throws Error as wholeNumber() has it. */
export const seconds = (least: number, most: number) => (text: string) => {
  const value = /^\d+(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most))
    throw new Error(`must be a number of seconds from ${least} to ${most}`)
  return value * 1000
}

/** The reader of one of these words; throws Error for any other. */
export const oneOf =
  <Value extends string>(...values: Value[]) =>
  (text: string) => {
    const value = values.find(value => value === text)
    if (!value) throw new Error(`must be one of ${values.join(', ')}`)
    return value
  }
