import type { Refusal } from './task.ts'

/** Filters of each type that there is, some with two values: the world has a record beside each. */
export const NARROWED = {
  'filter[organization_ids][]': [10, 11],
  'filter[seids][]': ['A 1', 'B&2'],
  'filter[legacy_record][]': [false],
  'filter[user_record_status][]': ['active' as const],
  'filter[start_date]': '2026-01-02',
}

/** An answer that was no success; both libraries return the parsed body beside the Response. */
export class Refused extends Error {
  constructor(
    readonly response: Response | undefined,
    readonly body: unknown,
  ) {
    super('refused')
  }
}

/** What the library showed of it; undefined for another error. */
export async function refusalOf(error: unknown): Promise<Refusal | undefined> {
  if (!(error instanceof Refused)) return undefined
  const { error: code, error_description: description } = error.body as Record<string, string>
  const challenge = error.response?.headers.get('www-authenticate') ?? undefined
  return { kind: 'error', status: error.response?.status, error: code, description, challenge }
}
