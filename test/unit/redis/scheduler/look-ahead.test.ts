import { expect, test } from 'vitest'
import { Backlog } from '../../../../src/redis/scheduler/backlog.ts'
import { LookAhead } from '../../../../src/redis/scheduler/look-ahead.ts'

const MS = 1_000

test('the look-ahead is 50 ms before anything was measured, and never less', () => {
  const lookAhead = new LookAhead()
  expect(lookAhead.value).toBe(50 * MS)
  lookAhead.observe(3 * MS)
  expect(lookAhead.value).toBe(50 * MS)
})

test('it is one and a half times the slowest twentieth, 250 ms at the most', () => {
  const lookAhead = new LookAhead()
  for (let pass = 1; pass <= 60; pass++) lookAhead.observe(pass <= 57 ? 60 * MS : 900 * MS)
  expect(lookAhead.value).toBe(90 * MS)
  for (let pass = 0; pass < 10; pass++) lookAhead.observe(900 * MS)
  expect(lookAhead.value).toBe(250 * MS)
})

test('it forgets what was long ago', () => {
  const lookAhead = new LookAhead()
  for (let pass = 0; pass < 64; pass++) lookAhead.observe(900 * MS)
  for (let pass = 0; pass < 64; pass++) lookAhead.observe(40 * MS)
  expect(lookAhead.value).toBe(60 * MS)
})

test('one that is given stays', () => {
  const lookAhead = new LookAhead(70 * MS)
  lookAhead.observe(900 * MS)
  expect(lookAhead.value).toBe(70 * MS)
})

test('a backlog that cannot be counted is not bounded', async () => {
  const backlog = new Backlog(undefined)
  backlog.add(1_000_000)
  expect(await backlog.room()).toBe(100)
  expect(backlog.isFull).toBe(false)
})

test('a full backlog leaves room for one, until it is fetched from', async () => {
  let unfetched = 2_500
  const backlog = new Backlog(async () => unfetched)
  backlog.add(1_950)
  expect(await backlog.room()).toBe(1)
  expect(backlog.isFull).toBe(true)
  unfetched = 1_950
  expect(await backlog.room()).toBe(50)
  expect(backlog.isFull).toBe(false)
})
