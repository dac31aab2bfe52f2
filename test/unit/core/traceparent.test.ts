import { expect, test } from 'vitest'
import { TRACEPARENT } from '../../../src/core/traceparent.ts'

const [TRACE, SPAN] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']

test.each([
  `00-${TRACE}-${SPAN}-01`,
  `cc-${TRACE}-${SPAN}-00`,
  `00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-ff`,
])('%s is a traceparent', (text) => {
  expect(text).toMatch(TRACEPARENT)
})

test.each([
  '',
  `ff-${TRACE}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01\n`,
  `0-${TRACE}-${SPAN}-01`,
])('%j is not a traceparent', (text) => {
  expect(text).not.toMatch(TRACEPARENT)
})
