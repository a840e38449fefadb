/** A map with a budget: over the budget it drops the entries that were used longest ago. */
export class LruCache<Value> {
  readonly #entries = new Map<string, { value: Value; size: number }>()
  #size = 0

  /** @param budget the largest sum of the sizes of its entries */
  constructor(private readonly budget: number) {}

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  set(key: string, value: Value, size = 1): void {
    this.delete(key)
    this.#entries.set(key, { value, size })
    this.#size += size
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.budget) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    this.#size -= this.#entries.get(key)?.size ?? 0
    this.#entries.delete(key)
  }
}
