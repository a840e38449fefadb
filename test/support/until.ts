/**
 * Waits until `condition` returns a truthy value, and returns that value; calls `condition` every 10 ms. After
 * `deadline` milliseconds it throws with `sentence`, which describes the condition. A condition that throws counts as
 * false; its last error becomes the cause.
 */
export async function until<T>(
  sentence: string,
  condition: () => T | Promise<T>,
  deadline = 10_000,
): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
  const end = Date.now() + deadline
  let cause: unknown
  for (;;) {
    try {
      cause = undefined
      const value = await condition()
      if (value) return value as Exclude<T, false | null | undefined | 0 | ''>
    } catch (error) {
      cause = error
    }
    if (Date.now() > end) throw new Error(`not within ${deadline} ms: ${sentence}`, { cause })
    await Bun.sleep(10)
  }
}
