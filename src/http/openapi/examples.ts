import type { AssessmentList, AssessmentRecord } from '../../assessments/record.ts'
import type { TokenResponse } from '../../oauth/endpoint.ts'
import { TOKEN_LIFETIME } from '../../oauth/tokens.ts'

/** The sample of an operation. */
export const curl = (source: string) => [{ lang: 'Shell' as const, label: 'curl' as const, source }]

const educator = {
  seid: '1234567890',
  name: 'Ana M. Ruiz',
  first_name: 'Ana',
  last_name: 'Ruiz',
  email: 'ana@example.org',
  organization_id: 12,
  organization_name: 'Lakeside District',
}
const pat = { proctor_id: 77, proctor_name: 'Pat Proctor' }
const lee = { proctor_id: 78, proctor_name: 'Lee Proctor' }

/** An assessment without separate parts: its one part is itself. */
const reading = { assessment_name: 'Reading Observation', certified_on: '2026-03-01' }
const single: typeof AssessmentRecord.static = {
  id: 9001,
  ...educator,
  ...reading,
  results: [{ assessment_id: 9001, ...reading, ...pat }],
}

/** An assessment of two parts. */
export const record: typeof AssessmentRecord.static = {
  id: 9100,
  ...educator,
  assessment_name: 'Classroom Practice',
  certified_on: '2026-03-09',
  results: [
    { assessment_id: 9101, assessment_name: 'Planning', certified_on: '2026-03-01', ...pat },
    { assessment_id: 9102, assessment_name: 'Instruction', certified_on: '2026-03-09', ...lee },
  ],
}

export const list: typeof AssessmentList.static = {
  data: [single, record],
  meta: { count: 212, offset: 0, page: 2 },
}

export const token: typeof TokenResponse.static = {
  access_token: 'fGq0ZtKb3rQ1vXw8yLm5nPd2sHc7jTa9uEi6oRk4zBx',
  token_type: 'Bearer',
  expires_in: TOKEN_LIFETIME,
  created_at: 1772388000,
}
