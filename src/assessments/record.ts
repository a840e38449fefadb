import { Type as t } from '@sinclair/typebox'

/** The shapes of spec 2.1 to 2.3. They are rendered by SQL (db/migrations); tests compare answers with them. */

/** Format int64: a generated client must not make 32 bits of it. */
const Id = (description: string) => t.Integer({ format: 'int64', description })
const Day = (description: string) => t.String({ format: 'date', description })

/** Spec 2.2. */
export const ResultPart = t.Object({
  assessment_id: Id('ID of that individual part; the retrieve endpoint does not take it.'),
  assessment_name: t.String({ description: 'Name of the part.' }),
  certified_on: Day('Completion date of the part.'),
  proctor_id: Id('Platform user ID of the proctor who supervised the part.'),
  proctor_name: t.String({ description: "The proctor's name." }),
})

/** Spec 2.1: an element of `data`, and the answer of the retrieve endpoint. */
export const AssessmentRecord = t.Object({
  id: Id('ID of the overall assessment; the only one the retrieve endpoint takes.'),
  seid: t.Union([t.String(), t.Null()], { description: 'State Educator ID; null if never recorded.' }),
  name: t.String({ description: 'Full display name.' }),
  first_name: t.String({ description: 'Given name.' }),
  last_name: t.String({ description: 'Family name.' }),
  email: t.String({ description: "The educator's email address on the platform." }),
  organization_id: Id('Organization the assessment belongs to.'),
  organization_name: t.String({ description: 'Name of that organization.' }),
  assessment_name: t.String({ description: 'Name of the completed assessment.' }),
  certified_on: Day('Completion date of the overall assessment.'),
  results: t.Array(ResultPart, {
    minItems: 1,
    description: 'The parts, or one entry that describes the assessment itself.',
  }),
})

/** Spec 4.2: the answer of the list endpoint, with the meta object of 2.3. */
export const AssessmentList = t.Object({
  data: t.Array(AssessmentRecord),
  meta: t.Object({
    count: t.Integer({ description: 'Total records matching the filters, ignoring paging.' }),
    offset: t.Integer({ format: 'int64', description: 'Offset applied to this response.' }),
    page: t.Integer({ description: 'Page size applied, after the cap of 100.' }),
  }),
})
