/**
 * Waits until `condition` holds and returns what it returned; looks again every 10 ms. Throws with `sentence`, which
 * says what should have become true, when it does not within `deadline` milliseconds. A condition that throws has
 * not come true yet: its last error is the cause.
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
