import { expect, test } from 'vitest'
import { launch } from '../../support/launch.ts'
import { configFile, serve } from './running.ts'

test('an address that is in use is named with its place in the configuration', async () => {
  const limits = { '*': '9, 1/s' }
  const { url } = await serve({ limits })
  const { host } = new URL(url)
  const second = launch(['serve', '--config', configFile({ listen: host, limits })])
  const { code, stderr } = await second.ended
  expect(code).toBe(2)
  expect(stderr).toMatch(/velvet-rope\.yaml:1:9: expected a free port, got one in use: "127\.0\.0\.1:\d+"/)
  expect(stderr).not.toContain('serveHttp')
  const third = launch(['serve', '--config', configFile({ limits }), '--listen', host])
  expect((await third.ended).stderr).toContain('--listen: expected a free port')
})
