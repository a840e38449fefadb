// Readers throw an Error whose message completes "NAME …".

/**
 * Whether a text may be the path of a file. A text with "://" or "@" may be a URL with a password, unless it begins as a
 * path does: the folder of a unit's credentials has the "@" of an instance.
 */
export const isPath = (text: string) => /^\.{0,2}\/(?!\/)/.test(text) || !/:\/\/|@/.test(text)

/** The path of a file. */
export const filePath = (text: string) => {
  if (!isPath(text))
    throw new Error('must be the path of a file: a URL belongs into the setting without _FILE')
  return text
}

const numberReader =
  (name: string, form: RegExp, factor: number) => (least: number, most: number) => (text: string) => {
    const value = form.test(text) ? Number(text) : Number.NaN
    if (!(value >= least && value <= most)) throw new Error(`must be a ${name} from ${least} to ${most}`)
    return value * factor
  }

/** The reader of a whole number within bounds. */
export const wholeNumber = numberReader('whole number', /^\d+$/, 1)

/** The reader of a number of seconds within bounds, which returns milliseconds. */
export const seconds = numberReader('number of seconds', /^\d+(\.\d{1,3})?$/, 1000)

/** The reader of one of these words. */
export const oneOf =
  <Value extends string>(...values: Value[]) =>
  (text: string) => {
    const value = values.find(value => value === text)
    if (!value) throw new Error(`must be one of ${values.join(', ')}`)
    return value
  }

/** A database URL without its password, which may have unescaped "/", "#" and "@". Other text is masked as a whole. */
export function maskedUrl(value: string): string {
  const [, scheme, rest] = /^(postgres(?:ql)?:\/\/)(.*)$/.exec(value) ?? []
  if (scheme === undefined || rest === undefined) return '***'
  const at = rest.lastIndexOf('@')
  const [address = '', ...query] = rest.slice(at + 1).split('?')
  // Without a user only a port may follow a colon: other text may be a password whose "@" is missing.
  const isClear = rest.lastIndexOf('?', at) < 0 && /^(\[[\da-f:.]+\]|[^:]*)(:\d+)?([/,][^@]*)?$/.test(address)
  if (!isClear) return `${scheme}***`
  const credentials = rest.slice(0, Math.max(at, 0))
  const name = /^[^:/?#@]*/.exec(credentials)?.[0] ?? ''
  const user = at < 0 ? '' : name === credentials ? `${name}@` : `${name}:***@`
  const shown = query.join('?').split('&').map(maskedParameter).join('&')
  return `${scheme}${user}${address}${query.length > 0 ? `?${shown}` : ''}`
}

function maskedParameter(parameter: string): string {
  const [name = '', ...value] = parameter.split('=')
  if (value.length === 0) return '***'
  return /pass|secret|key|%/i.test(name) ? `${name}=***` : parameter
}
