/** The faults that were found: each text once, with its count. A test expects none. */
export class Faults {
  readonly #times = new Map<string, number>()

  note(fault: string): void {
    this.#times.set(fault, (this.#times.get(fault) ?? 0) + 1)
  }

  /** The faults for the message of a failed test. */
  report(): string[] {
    return [...this.#times].map(([fault, times]) => (times > 1 ? `${fault} (${times} times)` : fault))
  }
}
