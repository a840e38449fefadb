/** An id of the platform as a number of JSON: a bigint where a double would round it. */
export type ExactNumber = number | bigint

/** The number that decimal digits stand for, never rounded. */
export function exactNumber(digits: string): ExactNumber {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}

/** JSON.rawJSON() is in the engine and not yet in the types. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/** What JSON.parse() makes of a text, but for integers that it would round: these are bigints. */
export function parseExact(text: string): unknown {
  return (JSON.parse as ParseWithSource)(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && /^-?\d+$/.test(source) ? exactNumber(source) : value,
  )
}

/** The text of each primitive is in the engine and not yet in the types. */
type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown

/** JSON.stringify that prints each bigint as the number it is. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'bigint' ? rawJSON(item.toString()) : item,
  )
}
