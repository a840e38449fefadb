import { expect, test } from 'bun:test'
import { isChosen, thorough } from '../../support/tier.ts'
import { type DependsOn, kindsOf } from './kinds.ts'

const DEPENDENCIES: DependsOn[] = ['endpoint', 'data', 'protocol']
const SUBJECTS = ['The list', 'The search', 'The sort', 'The dates', 'Paging', 'The client']

test('every subject is tested on Postgres, and under CHECK=all on the executable', () => {
  for (const dependsOn of DEPENDENCIES)
    for (const subject of SUBJECTS) {
      const kinds = kindsOf(dependsOn, subject)
      expect(kinds).toContain('postgres')
      expect(kinds.includes('serve --workers 2')).toBe(thorough || dependsOn === 'endpoint')
    }
})

test('the embedded database is tested with endpoints, and under CHECK=all with the chosen subjects about data', () => {
  for (const subject of SUBJECTS) {
    expect(kindsOf('endpoint', subject)).toContain('embedded')
    expect(kindsOf('data', subject).includes('embedded')).toBe(thorough && isChosen(subject))
    expect(kindsOf('protocol', subject)).not.toContain('embedded')
  }
})
