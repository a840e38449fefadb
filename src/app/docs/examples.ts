/** The examples of answers. Records are those of `axport demo`. */

export const TOKEN_EXAMPLE = {
  access_token: 'fGq0ZtKb3rQ1vXw8yLm5nPd2sHc7jTa9uEi6oRk4zBx',
  token_type: 'Bearer',
  expires_in: 7200,
  created_at: 1772388000,
}

export const RECORD_EXAMPLE = {
  id: 20521,
  seid: '9969923994',
  name: 'James Flores',
  first_name: 'James',
  last_name: 'Flores',
  email: 'user1207@example.org',
  organization_id: 1,
  organization_name: 'Lakeside District',
  assessment_name: 'Teaching Certificate',
  certified_on: '2026-04-05',
  results: [
    {
      assessment_id: 20522,
      assessment_name: 'Written Test',
      certified_on: '2026-03-28',
      proctor_id: 116,
      proctor_name: 'Aisha Adams',
    },
    {
      assessment_id: 20523,
      assessment_name: 'Practical Test',
      certified_on: '2026-04-05',
      proctor_id: 120,
      proctor_name: 'Brian Rivera',
    },
  ],
}

export const LIST_EXAMPLE = {
  data: [
    {
      id: 20540,
      seid: null,
      name: 'Leah V. Davis',
      first_name: 'Leah',
      last_name: 'Davis',
      email: 'user491@example.org',
      organization_id: 10,
      organization_name: 'Riverton Public Schools',
      assessment_name: 'Phonics Screener',
      certified_on: '2026-04-04',
      results: [
        {
          assessment_id: 20540,
          assessment_name: 'Phonics Screener',
          certified_on: '2026-04-04',
          proctor_id: 140,
          proctor_name: 'Grace Taylor',
        },
      ],
    },
    RECORD_EXAMPLE,
  ],
  meta: { count: 74, offset: 0, page: 2 },
}
