/** An id of the platform as a number in JSON: a bigint if a double would round it. */
export type ExactNumber = number | bigint

/** The value of decimal digits, never rounded. */
export function exactNumber(digits: string): ExactNumber {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}

/** ES2025: the types of TypeScript do not have them yet. */
const { rawJSON, parse } = JSON as unknown as {
  rawJSON(text: string): unknown
  parse(text: string, reviver: (key: string, value: unknown, at: { source?: string }) => unknown): unknown
}

/** JSON.parse() that reads integers as bigints if a double would round them. */
export function parseExact(text: string): unknown {
  return parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && /^-?\d+$/.test(source) ? exactNumber(source) : value,
  )
}

/** JSON.stringify() that prints each bigint as a number. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'bigint' ? rawJSON(item.toString()) : item,
  )
}
