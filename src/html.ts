/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

type Value = Html | string | number | boolean | null | undefined | Value[]

/** A template whose values are escaped, unless they are HTML; nothing stands for undefined, null and false. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(rendered)))
}

function rendered(value: Value): string {
  if (Array.isArray(value)) return value.map(rendered).join('')
  if (value instanceof Html) return value.text
  if (value === undefined || value === null || value === false) return ''
  return String(value).replaceAll(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}
