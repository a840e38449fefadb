import { expect, test } from 'bun:test'
import { thorough } from '../../support/tier.ts'
import { kindsOf } from './kinds.ts'

test('one file of each endpoint is always tested in process and on the executable, and every file is under CHECK=all', () => {
  expect(kindsOf(true)).toEqual(['in process', 'serve'])
  expect(kindsOf()).toEqual(thorough ? ['in process', 'serve'] : ['in process'])
})
