/** How far a change is: no COMMIT was sent; one was sent, and its answer has not come; one was answered. */
export type Commit = 'none' | 'sent' | 'done'

/** The wish to end a command, as Ctrl-C expresses it, and how far the change of the command is by then. */
export class Interruption {
  readonly #controller = new AbortController()
  commit: Commit = 'none'

  /** Is aborted when the command is to end. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isRequested(): boolean {
    return this.signal.aborted
  }

  request(): void {
    this.#controller.abort()
  }
}
