/** The wish to end a command, as Ctrl-C expresses it, and what the command has done by then. */
export class Interruption {
  readonly #controller = new AbortController()
  /** A COMMIT was sent, and its outcome is not known yet: the connection has to stay. */
  isCommitting = false
  /** A change was committed, or may have been: the command has to tell before it ends. */
  hasCommitted = false

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
