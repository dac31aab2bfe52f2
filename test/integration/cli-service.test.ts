import { expect, it } from 'vitest'
import { launch } from '../support/launch.ts'
import { openService, openStranger } from '../unit/cli/open-service.ts'

it('a command ends when it has its answer, whatever connections it opened', async () => {
  const { shaper, url } = await openService({ '*': '1, 1/h' })
  expect(await launch(['enqueue', 'a', '1', '--id', 'order-7', '--url', url]).ended).toEqual({
    code: 0,
    stdout: 'accepted  order-7: position 1, departs now\n',
    stderr: '',
  })
  expect(await shaper.job('order-7')).toMatchObject({ key: 'a', data: 1 })
})

it('a command that waits for an answer for more than two seconds shows that', async () => {
  const { url } = await openStranger(() => {})
  const waiting = launch(['limits', 'list', '--url', url])
  await waiting.said('waiting for an answer (2 s)\n')
  const enqueuing = launch(['enqueue', '--url', url], '{"key":"a","data":1}\n')
  await enqueuing.said('0 accepted, 0 rejected (2 s)\n')
  enqueuing.signal('SIGINT')
  expect(await enqueuing.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('interrupted; ') })
})
