import { expect, test } from 'bun:test'
import { join } from 'node:path'

const script = `
  import fc from 'fast-check'
  import { holds } from ${JSON.stringify(join(import.meta.dir, 'property.ts'))}
  import { seed } from ${JSON.stringify(join(import.meta.dir, 'tier.ts'))}
  const kind = process.argv.at(-1)
  if (kind === 'seed') {
    console.log(seed)
    process.exit()
  }
  let calls = 0
  const property = fc.asyncProperty(fc.integer(), async number => {
    calls++
    if (kind === 'slow') await Bun.sleep(50)
    if (kind === 'wrong' && calls === 6) throw new Error('got ' + number)
  })
  const bounds = { runs: 4, thorough: 12 }
  try {
    await holds(property, kind === 'slow' ? { ...bounds, limit: 20 } : { ...bounds, shrink: false })
    console.log('held by ' + calls)
  } catch (error) {
    console.log(String(error), error.cause.message)
  }
`

/** The output of a process with these variables that checks a property of this kind. */
function ending(kind: 'right' | 'wrong' | 'slow' | 'seed', variables: Record<string, string>): string {
  const { CHECK: _, TEST_SEED: __, ...env } = process.env
  return Bun.spawnSync([process.execPath, '-e', script, kind], {
    env: { ...env, ...variables },
  }).stdout.toString()
}

test('holds() tries exactly `runs` inputs, and up to `thorough` inputs under CHECK=all', () => {
  expect(ending('right', {})).toBe('held by 4\n')
  expect(ending('right', { CHECK: 'all' })).toBe('held by 12\n')
})

test('holds() tries `runs` inputs even if the time limit of CHECK=all is over', () => {
  expect(ending('slow', {})).toBe('held by 4\n')
  expect(ending('slow', { CHECK: 'all' })).toBe('held by 4\n')
})

test('holds() names the seed that repeats the round of a failure', () => {
  const output = ending('wrong', { CHECK: 'all', TEST_SEED: '17' })
  const [, value] = /TEST_SEED=18 repeats this run[\s\S]*got (-?\d+)/.exec(output) ?? []
  expect(output).toContain(`Counterexample: [${value}]`)
})

test('the seed is constant in the fast tier, random in each run of CHECK=all, and TEST_SEED if that is set', () => {
  const seed = (variables: Record<string, string>) => ending('seed', variables)
  expect(seed({})).toBe(seed({}))
  expect(seed({ CHECK: 'all' })).not.toBe(seed({ CHECK: 'all' }))
  expect(seed({ TEST_SEED: '17' })).toBe('17\n')
})
