import { expect, test } from 'vitest'
import { readVerdicts, ruleBookReply } from '../../../src/cli/api/replies.ts'

const request = { key: 'k', data: 0 }
const refused = {
  status: 429,
  type: 'urn:velvet-rope:problem:queue-full',
  title: 'Queue full',
  key: 'k',
  retryAfterMs: 100,
  waiting: 5,
  capacity: 5,
}

test('a refusal that names the id of its job is a refusal', () => {
  expect(readVerdicts({ verdicts: [{ ...refused, id: 'j1' }] }, [request])).toEqual([
    { accepted: false, reason: 'full', key: 'k', retryAfterMs: 100, waiting: 5, capacity: 5 },
  ])
})

test('a refusal by a total names it', () => {
  expect(readVerdicts({ verdicts: [{ ...refused, at: 'a/' }] }, [request])).toMatchObject([
    { accepted: false, reason: 'full', at: 'a/' },
  ])
})

test('a refusal with null for a time, or without what only people read, costs no other verdict', () => {
  const tooCostly = {
    ...refused,
    status: 422,
    type: 'urn:velvet-rope:problem:too-costly',
    retryAfterMs: null,
  }
  const verdicts = [{ ...tooCostly, title: null, errors: 'none' }, refused]
  expect(readVerdicts({ verdicts }, [request, request])).toMatchObject([
    { accepted: false, reason: 'too-costly', retryAfterMs: Number.POSITIVE_INFINITY },
    { accepted: false, reason: 'full' },
  ])
})

test('rules with a field that only a newer service sends are listed', () => {
  const rule = { pattern: '*', limit: '5, 1/s', origin: 'code', newer: 1 }
  expect(ruleBookReply.parse({ version: 1, limits: [rule], later: [] }).limits).toMatchObject([
    { pattern: '*', limit: '5, 1/s' },
  ])
})
