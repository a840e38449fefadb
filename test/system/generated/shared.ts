import { type Refusal, TASK } from './task.ts'

/** Filters of each type, some with two values. For each filter, the test data has a record that it leaves out. */
export const NARROWED = {
  'filter[organization_ids][]': [10, 11],
  'filter[seids][]': ['A 1', 'B&2'],
  'filter[legacy_record][]': [false],
  'filter[user_record_status][]': ['active' as const],
  'filter[start_date]': '2026-01-02',
}

/** The body of a token request. The generated types allow only the grant type client_credentials. */
export const tokenBody = (grantType: string) => ({
  grant_type: grantType as 'client_credentials',
  client_id: TASK.clientId,
  client_secret: TASK.clientSecret,
})

/** The data of a successful answer; throws Refused for any other. */
export function dataOf<Data>(answer: {
  data?: Data
  error?: unknown
  response?: Response | undefined
}): NonNullable<Data> {
  if (!answer.data) throw new Refused(answer.response, answer.error)
  return answer.data
}

/** An error answer. Both libraries return its parsed body and the Response. */
class Refused extends Error {
  constructor(
    readonly response: Response | undefined,
    readonly body: unknown,
  ) {
    super('refused')
  }
}

/** The parts of the error answer that the library showed; undefined for another error. */
export async function refusalOf(error: unknown): Promise<Refusal | undefined> {
  if (!(error instanceof Refused)) return undefined
  const { error: code, error_description: description } = error.body as Record<string, string>
  const challenge = error.response?.headers.get('www-authenticate') ?? undefined
  return { kind: 'error', status: error.response?.status, error: code, description, challenge }
}
