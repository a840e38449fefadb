/** What was wrong, each kind of it once with how often. Empty is what everybody wants. */
export class Faults {
  readonly #times = new Map<string, number>()

  note(fault: string): void {
    this.#times.set(fault, (this.#times.get(fault) ?? 0) + 1)
  }

  /** For the failure of a test. */
  report(): string[] {
    return [...this.#times].map(([fault, times]) => (times > 1 ? `${fault} (${times} times)` : fault))
  }
}
