import { expect, test } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import { holds } from './property.ts'

const script = `
  import fc from 'fast-check'
  import { Floors, holds } from ${JSON.stringify(join(import.meta.dir, 'property.ts'))}
  import { seed } from ${JSON.stringify(join(import.meta.dir, 'tier.ts'))}
  const kind = process.argv.at(-1)
  if (kind === 'seed') {
    console.log(seed)
    process.exit()
  }
  let calls = 0
  const floors = new Floors({ end: 0.5 })
  const property = fc.asyncProperty(fc.integer(), async number => {
    calls++
    if (kind === 'wrong' && (calls === 6 || process.env.TEST_PATH)) throw new Error('got ' + number)
    if (kind === 'early' ? calls % 3 === 0 : calls % 2 === 0) floors.reached('end')
  })
  try {
    await holds(property, { runs: 4, thorough: 12, floors, shrink: false })
    console.log('held by ' + calls)
  } catch (error) {
    console.log(error.message, error.cause?.message)
  }
`

/** The output of a process with these variables that checks a property of this kind. */
function ending(kind: 'right' | 'wrong' | 'early' | 'seed', variables: Record<string, string>): string {
  const { CHECK: _, TEST_SEED: __, ...env } = process.env
  return Bun.spawnSync([process.execPath, '-e', script, kind], {
    env: { ...env, ...variables },
  }).stdout.toString()
}

test('holds() tries exactly `runs` cases, and `thorough` cases under CHECK=all', () => {
  expect(ending('right', {})).toBe('held by 4\n')
  expect(ending('right', { CHECK: 'all' })).toBe('held by 12\n')
})

test('holds() tries RANDOM_TIMES as many cases', () => {
  expect(ending('right', { RANDOM_TIMES: '3' })).toBe('held by 12\n')
})

test('holds() names the seed and the path that repeat a failure, and then tries that case alone', () => {
  const output = ending('wrong', { CHECK: 'all', TEST_SEED: '17' })
  const [, path = '', value] = /TEST_SEED=17 TEST_PATH=(\d+) CHECK=all[\s\S]*got (-?\d+)/.exec(output) ?? []
  expect(output).toContain(`Counterexample: [${value}]`)
  const again = ending('wrong', { CHECK: 'all', TEST_SEED: '17', TEST_PATH: path })
  expect(again).toContain('after 1 tests')
  expect(again).toContain(`got ${value}`)
})

test('the command that repeats a case names the file and the title of its test', async () => {
  const failing = holds(
    fc.property(fc.constant(1), () => false),
    { runs: 1, shrink: false },
  )
  const [line = ''] = (await failing.then(String, (error: Error) => error.message)).split('\n')
  expect(line).toEndWith(
    " bun run test test/support/property.long.test.ts -t 'the command that repeats a case names the file and the title of its test'",
  )
})

test('holds() fails if too few cases get to a point', () => {
  expect(ending('early', { CHECK: 'all' })).toStartWith('4 of 12 cases got to "end", and 50 % must')
})

test('the seed is constant in the fast tier, random in each run of CHECK=all, and TEST_SEED if that is set', () => {
  const seed = (variables: Record<string, string>) => ending('seed', variables)
  expect(seed({})).toBe(seed({}))
  expect(seed({ CHECK: 'all' })).not.toBe(seed({ CHECK: 'all' }))
  expect(seed({ TEST_SEED: '17' })).toBe('17\n')
})
