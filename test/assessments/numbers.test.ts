import { describe, expect, test } from 'bun:test'
import { LIST_PARAMETERS } from '../../src/contract.ts'
import { canonicalNumber, isBigint } from '../../src/parameters.ts'
import { NO_NUMBERS } from '../support/bad-values.ts'

describe('a whole number', () => {
  const digits = (count: number) => '9'.repeat(count)

  test.each<[string, string | undefined]>([
    ['7', '7'],
    ['007', '7'],
    ['+7', '7'],
    [' -07 ', '-7'],
    ['0', '0'],
    ['-000', '0'],
    ['+0', '0'],
    ['9223372036854775808', '9223372036854775808'],
    [`-000${digits(20)}`, `-${digits(20)}`],
    ['1\n', '1'],
    ...['', '+', ...NO_NUMBERS].map((text): [string, undefined] => [text, undefined]),
  ])('%j has the canonical form %j', (text, canonical) => {
    expect(canonicalNumber(text)).toBe(canonical)
  })

  test.each([
    ['999999999999999999', true],
    ['9223372036854775807', true],
    ['9223372036854775808', false],
    [digits(20), false],
    ['-9223372036854775808', true],
    ['-9223372036854775809', false],
    [`-${digits(20)}`, false],
  ])('%s can be a bigint of Postgres: %p', (number, expected) => {
    expect(isBigint(number)).toBe(expected)
  })

  test.each<[name: string, text: string, value: unknown]>([
    ['page', '0', undefined],
    ['page', '-0', undefined],
    ['page', '+007', 7],
    ['offset', '-0', 0],
    ['offset', '9007199254740991', Number.MAX_SAFE_INTEGER],
    ['offset', '9007199254740992', Number.MAX_SAFE_INTEGER],
    ['offset', `${'0'.repeat(30)}12`, 12],
    ['offset', digits(400), Number.MAX_SAFE_INTEGER],
    ['offset', `-${digits(400)}`, undefined],
    ['filter[user_ids][]', digits(30), digits(30)],
  ])('as %s, %s is read as %p', (name, text, value) => {
    expect(LIST_PARAMETERS[name]?.kind.read(text)).toBe(value)
  })

  test('of more than 19 digits is not parsed as a bigint, which takes quadratic time', () => {
    const parsed: string[] = []
    const original = globalThis.BigInt
    globalThis.BigInt = new Proxy(original, {
      apply(target, _, [value]: [string]) {
        parsed.push(value)
        return target(value)
      },
    })
    try {
      for (const text of [digits(60_000), `-${digits(60_000)}`, `+${'0'.repeat(60_000)}7`])
        for (const name of ['offset', 'filter[user_ids][]']) {
          const value = LIST_PARAMETERS[name]?.kind.read(text)
          if (typeof value === 'string') isBigint(value)
        }
    } finally {
      globalThis.BigInt = original
    }
    expect([...new Set(parsed)]).toEqual(['7'])
  })
})
