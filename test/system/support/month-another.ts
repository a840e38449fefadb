import { assessment, educator, ndjsonOf, organization, product } from '../../support/fixtures.ts'
import type { Exported } from './month-oracle.ts'

/** A file with another organization, which the feed's platform does not know, and with two rows that the feed gives, too. */
export const FILE = ndjsonOf([
  organization(900, 'Others'),
  product(900, 'Other'),
  educator(900, { name: 'Ana Other', first_name: 'Ana', last_name: 'Other' }),
  assessment(9_000_001, {
    user_id: 900,
    organization_id: 900,
    product_id: 900,
    proctor_id: 900,
    certified_at: '2026-03-02T03:00:00Z',
  }),
  educator(7, { name: 'By file' }),
  { type: 'assessment', id: 10, deleted: true },
])

/** The record of the other organization, with the name of its educator, who is also its proctor. */
export const recordOfOther = (name: string): Exported => ({
  record: {
    id: 9_000_001,
    seid: 'S-900',
    name,
    first_name: 'Ana',
    last_name: 'Other',
    email: 'educator900@example.org',
    organization_id: 900,
    organization_name: 'Others',
    assessment_name: 'Other',
    certified_on: '2026-03-01',
    results: [
      {
        assessment_id: 9_000_001,
        assessment_name: 'Other',
        certified_on: '2026-03-01',
        proctor_id: 900,
        proctor_name: name,
      },
    ],
  },
  is_archived: false,
  legacy_record: false,
})
