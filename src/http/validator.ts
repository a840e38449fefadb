/** A reader of a part of a request, in the form that the framework validates by (Standard Schema 1). */
interface Validator<Output> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: 'axport'
    readonly types?: { readonly input: unknown; readonly output: Output }
    validate(raw: unknown): { value: Output }
  }
}

/**
 * Makes a reader the validator of a route. It throws the answer to what it cannot read: the error that the framework
 * would make of a list of issues holds the whole value, which may be personal data.
 */
export function validator<Output>(read: (raw: unknown) => Output): Validator<Output> {
  return { '~standard': { version: 1, vendor: 'axport', validate: raw => ({ value: read(raw) }) } }
}
