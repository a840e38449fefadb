/**
 * Waits until `condition` returns a truthy value, and returns that value. Calls `condition` every 10 ms, and after 200 ms
 * each time a twentieth of the wait has passed, 100 ms at most: a call may take as long as a new connection. After
 * `deadline` milliseconds it throws with `sentence`, which describes the condition. A condition that throws counts as
 * false; its last error becomes the cause.
 */
export async function until<T>(
  sentence: string,
  condition: () => T | Promise<T>,
  deadline = 10_000,
): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
  const start = Date.now()
  let cause: unknown
  for (;;) {
    try {
      cause = undefined
      const value = await condition()
      if (value) return value as Exclude<T, false | null | undefined | 0 | ''>
    } catch (error) {
      cause = error
    }
    const waited = Date.now() - start
    if (waited > deadline) throw new Error(`not within ${deadline} ms: ${sentence}`, { cause })
    await Bun.sleep(Math.min(100, Math.max(10, waited / 20)))
  }
}
