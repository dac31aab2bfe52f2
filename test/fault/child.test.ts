import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { CampaignChild } from '../support/campaign/child.ts'

/** A process that answers with these replies, one to each order. */
function childWith(...replies: readonly object[]): CampaignChild {
  const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-child-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const program = join(folder, 'child.mjs')
  const code = `import { createInterface } from 'node:readline'
    const replies = ${JSON.stringify(replies)}
    for await (const line of createInterface({ input: process.stdin }))
      console.log('reply ' + JSON.stringify(replies.shift() ?? { answer: 'no more' }))`
  writeFileSync(program, code)
  const child = new CampaignChild('a child', { prefix: 'p', limit: '1, 1/s', keys: [], file: '' }, program)
  onTestFinished(() => child.kill())
  return child
}

const AWAY = { failure: 'BackendUnavailableError: Redis is unavailable: no answer in time' }

test('a question that the store did not answer in time is asked again', async () => {
  const child = childWith(AWAY, AWAY, { answer: { ended: 3 } })
  await expect(child.ask({ do: 'audit' })).resolves.toEqual({ ended: 3 })
})

test('a question that fails for another reason is not asked again, and neither is an order', async () => {
  const child = childWith({ failure: 'TypeError: a defect' }, AWAY)
  await expect(child.ask({ do: 'audit' })).rejects.toThrow('a child could not audit: TypeError: a defect')
  await expect(child.order({ do: 'limit', limit: '1, 1/s' })).rejects.toThrow('no answer in time')
})

test('a store that stays away is asked no longer than the patience lasts', async () => {
  const child = childWith(...Array<object>(1_000).fill(AWAY))
  await expect(child.ask({ do: 'job', id: 'x' }, 1)).rejects.toThrow('a child could not job')
})
