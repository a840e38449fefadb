/**
 * What may be shown of DATABASE_URL: all but the password, and whatever might be part of one: a password with an
 * unescaped "/", "#" or "@" in it reaches to the last "@". Nothing of what is no such URL.
 */
export function maskedUrl(value: string): string {
  if (value.startsWith('embedded:')) return value
  const [, scheme, rest] = /^(postgres(?:ql)?:\/\/)(.*)$/.exec(value) ?? []
  if (scheme === undefined || rest === undefined) return '***'
  const at = rest.lastIndexOf('@')
  const [address = '', ...query] = rest.slice(at + 1).split('?')
  // Without a user, what follows a colon is a port; anything else might be a password without its "@".
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
  return /pass|secret|key/i.test(name) ? `${name}=***` : parameter
}
