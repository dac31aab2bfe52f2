import { expect, onTestFinished, test } from 'vitest'
import { openScriptLab, type ScriptLab } from './scripts/script-lab.ts'

let opened: Promise<ScriptLab> | undefined

/** The last sample call of the verb that has an argument at a place, with that replaced. Redis counts places from 1. */
async function call(verb: string, at: number, value: string) {
  opened ??= openScriptLab()
  const lab = await opened
  const sample = lab.calls.findLast((sample) => sample.verb === verb && sample.values.length >= at)!
  const values = sample.values.with(at - 1, value)
  return lab.run({ ...sample, values })
}

test.each([
  ['finish', 'a number of reports that is no number', 3, ''],
  ['finish', 'more reports than there are', 3, '2'],
  ['finish', 'an outcome that is none', 7, 'done'],
  ['gate', 'a lease that is no number', 9, 'soon'],
  ['gate', 'a slot that is no number', 10, 'none'],
  ['gate', 'a time that is infinite', 1, 'inf'],
  ['start', 'a start that is no time', 5, ''],
  ['renew', 'an epoch that is no number', 5, 'x'],
  ['hold', 'a limit that is no number', 11, '`'],
  ['claim', 'a number of jobs to keep that is not whole', 6, '1.5'],
  ['recover', 'a number of jobs to keep that is not whole', 2, '1.5'],
  ['retime', 'an interval that is no number', 7, 'x'],
])('%s refuses %s before it writes anything', async (verb, _, at, value) => {
  const { error, before, after } = await call(verb, at, value)
  expect(error).toMatch(/^VR_ARGUMENT/)
  expect(after).toBe(before)
})

test.each([
  ['handed', 1],
  ['fetch', 1],
])('%s does not go through items that are not there', async (verb, at) => {
  expect((await call(verb, at, '1700000010000000')).error).toMatch(/^VR_ARGUMENT/)
})

test('the same calls as they are made are answered', async () => {
  opened ??= openScriptLab()
  const lab = await opened
  onTestFinished(() => lab.close())
  for (const sample of lab.calls) {
    expect((await lab.run(sample)).error, JSON.stringify(sample)).toBeUndefined()
  }
})
