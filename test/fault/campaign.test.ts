import { readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { Campaign, type CampaignPlan } from '../support/campaign/campaign.ts'

// The campaigns of this folder rest on what is held against itself here: records, merging, judging, complaining.
const plan: CampaignPlan = {
  limit: '8, 25/s',
  keys: ['a', 'b/x'],
  producers: [{ name: 'p', jobs: 20, attempts: 2, backoffMs: 30, comesBack: true }],
  workers: [{ takesMs: 10, failFirst: 1, tellsStarts: true, freeze: { every: 9, forMs: 60 } }],
  redis: 'none',
}

test('what one process does is recorded, merged and judged', async () => {
  await using campaign = await Campaign.start(plan)
  await campaign.producers[0]!.said('in-handler p-b_x-3')
  await campaign.setLimit('12, 50/s')
  await campaign.rest()
  const { history, startsOf } = await campaign.verdict({ settle: 20_000 })
  const count = (type: string) => history.filter((event) => event.type === type).length
  // Each job fails once, and three of a key are frozen once as well.
  expect(startsOf('a')).toHaveLength(43)
  expect([count('start'), count('return'), count('end'), count('limit')]).toEqual([86, 46, 40, 4])
  expect(count('answer')).toBeGreaterThan(40)
})

test('a planted breach is reported with its numbers, and the history is kept', async () => {
  await using campaign = await Campaign.start({ ...plan, workers: [{}] })
  await campaign.rest()
  campaign.note({ type: 'start', at: 2e15, id: 'p-a-1', key: 'a', cost: 1, attempt: 1 })
  const failure: unknown = await campaign.verdict().catch((error: unknown) => error)
  const text = String(failure)
  expect(text).toMatch(/expected no breach, got 1 \(L5: 1\):\n {2}L5 key "a": job "p-a-1" started at/)
  const [, path = ''] = /the history: (.+)$/.exec(text) ?? []
  expect(readFileSync(path, 'utf8')).toContain('"id":"p-a-1"')
  rmSync(dirname(path), { recursive: true })
})

test('a campaign that does not come to rest reports what it knows', async () => {
  await using campaign = await Campaign.start({ ...plan, workers: [{ hangEvery: 1 }] })
  const text = String(await campaign.rest(2_500).catch((error: unknown) => error))
  expect(text).toContain('has not come to rest within 2500 ms')
  expect(text).toMatch(/audit: \{"admitted":\d+,"waiting":\d+,"handed":0,"running":\d+/)
  expect(text).toContain('buckets: {')
  expect(text).toContain('single: alive, said last: ')
  const [, folder = ''] = /the records: (.+)$/.exec(text) ?? []
  rmSync(folder, { recursive: true })
})

test('a process that dies on its own is missed', async () => {
  await using campaign = await Campaign.start({ ...plan, limit: 'no limit at all' }).catch(
    (error: unknown) => {
      expect(String(error)).toContain('expected single to say "ready", it has not and ended')
      expect(String(error)).toContain('InvalidLimitError')
      return undefined
    },
  )
  expect(campaign).toBeUndefined()
})
