import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { findings, isAsWideAsItsWindow } from './fitness.ts'
import { enqueueJobs, openService } from './service.ts'
import { keepScreenshot, openBrowser, openTab } from './stage.ts'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

/** Handlers hold their places until the end of the test. */
async function openServiceWithParts() {
  const service = await openService({
    '*': '60, 10/s',
    'openai/*': '500, 50/s, 20/minute, 90000 tokens/minute 1200 each, 400/day, 12 at once',
    'github/*': '500, 50/s, 5000/hour, 100 at once',
    'youtube/*': '100, 50/s, 8 per day in America/Los_Angeles',
  })
  const { shaper } = service
  let endAll = () => {}
  const isOver = new Promise<void>((resolve) => {
    endAll = resolve
  })
  onTestFinished(() => endAll())
  shaper.work(({ key }) => (key.startsWith('youtube') ? undefined : isOver), { concurrency: 100 })
  await enqueueJobs(shaper, 'openai/gpt', 40)
  await enqueueJobs(shaper, 'openai/mini', 5)
  await enqueueJobs(shaper, 'github/org', 30)
  await enqueueJobs(shaper, 'youtube/channel', 14)
  await enqueueJobs(shaper, 'twilio/acme', 20)
  const takes = (key: string, count: number) =>
    expect.poll(async () => (await shaper.inspect(key))?.places?.taken).toBe(count)
  await takes('openai/gpt', 12)
  await takes('github/org', 30)
  await expect.poll(async () => (await shaper.inspect('youtube/channel'))?.quotas?.[0]?.used).toBe(8)
  return service
}

test.each([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['narrow', { colorScheme: 'dark', viewport: { width: 400, height: 860 } }],
] as const)('quotas and places are shown, accessible, and fit the window: %s', async (name, options) => {
  const { url } = await openServiceWithParts()
  const views = [
    ['parts-overview', '/', '.parts-segment'],
    ['parts-bucket', '/?bucket=openai%2Fgpt', '.part'],
    ['parts-calendar', '/?bucket=youtube%2Fchannel', '.part'],
    ['parts-many-places', '/?bucket=github%2Forg', '.part'],
    ['parts-rules', '/?page=rules', '.rule-table'],
  ] as const
  for (const [view, path, settled] of views) {
    const { page, faults } = await openTab(browser, { ...options, reducedMotion: 'reduce' })
    await page.goto(`${url}${path}`)
    await page.getByRole('status').getByText('Live').waitFor()
    await page.locator(settled).first().waitFor()
    await keepScreenshot(page, `${view}-${name}`)
    expect([view, await isAsWideAsItsWindow(page)]).toEqual([view, true])
    expect([view, await findings(page)]).toEqual([view, []])
    expect([view, faults]).toEqual([view, []])
  }
})

test('a bucket shows what its quotas and places count, and when a quota has room again', async () => {
  const { shaper, url } = await openServiceWithParts()
  const { page, faults } = await openTab(browser)
  await page.goto(`${url}/?bucket=openai%2Fgpt`)
  const part = (text: string) => page.locator('.part').filter({ hasText: text })
  await expect.poll(() => part('20/minute').innerText()).toMatch(/12 of 20 used, 60%\s+room now/)
  expect(await part('90000 tokens/minute').innerText()).toMatch(/14,400 of 90,000 used, 16%/)
  expect(await part('12 at once').innerText()).toMatch(/12 of 12 running, 100%\s+room when one ends/)
  expect(await part('12 at once').locator('.pip.is-taken').count()).toBe(12)
  expect(await page.locator('.departure-time').innerText()).toMatch(/no place/)

  await page.goto(`${url}/?bucket=youtube%2Fchannel`)
  await expect.poll(() => part('8 per day').innerText()).toMatch(/8 of 8 used, 100%\s+room in \d+[hm]/)
  const { roomAt } = (await shaper.inspect('youtube/channel'))!.quotas![0]!
  expect(await part('8 per day').locator('time').getAttribute('datetime')).toBe(
    new Date(roomAt!).toISOString(),
  )

  // A limit that has only a pace has no such card, and a row without the sign.
  await page.goto(`${url}/?bucket=twilio%2Facme`)
  await page.locator('.fact').first().waitFor()
  expect(await page.locator('.parts-card').count()).toBe(0)
  await page.goto(url)
  const row = (key: string) => page.getByRole('row', { name: new RegExp(key) })
  await row('openai/gpt').waitFor()
  await expect.poll(() => row('openai/gpt').locator('.parts-segment').count()).toBe(4)
  expect(await row('openai/gpt').locator('.parts-segment').last().getAttribute('title')).toBe(
    '12 at once: 12 of 12 used',
  )
  await expect.poll(() => row('youtube/channel').locator('.parts-segment.is-full').count()).toBe(1)
  expect(faults).toEqual([])
})

test('a quota says when it has room for what the next job counts, which is more than another one would', async () => {
  const { shaper, url } = await openService({ images: '500, 50/s, 100 images/day 1 each' })
  shaper.work(() => undefined)
  for (const images of [83, 20]) await shaper.enqueue('images', null, { costs: { images } })
  await expect.poll(async () => (await shaper.inspect('images'))?.heldBy?.quota).toBe('100 images/day')
  const { page, faults } = await openTab(browser)
  await page.goto(`${url}/?bucket=images`)
  const part = page.locator('.part')
  await expect
    .poll(() => part.innerText())
    .toMatch(/83 of 100 used, 83%\s+room for the next job in (1d 00h|24h)/)
  expect(await part.getAttribute('class')).toContain('is-full')
  const { heldBy } = (await shaper.inspect('images'))!
  expect(await part.locator('time').getAttribute('datetime')).toBe(new Date(heldBy!.until!).toISOString())
  await page.goto(url)
  await page.locator('.parts-segment.is-full').waitFor()
  expect(faults).toEqual([])
})

test('a limit of many parts leaves room for the pattern beside it', async () => {
  const day = ['Europe/Berlin', 'America/Los_Angeles', 'Australia/Lord_Howe'].map(
    (zone) => `900 per day in ${zone}`,
  )
  const { url } = await openService({
    'openai/gpt': `500, 50/s, 20/minute, 400/hour, 90000 tokens/minute 1200 each, 900000 tokens/hour 1200 each, ${day}, 12 at once`,
  })
  const { page } = await openTab(browser)
  await page.goto(`${url}/?page=rules`)
  const pattern = page.locator('.col-pattern .key')
  await pattern.waitFor()
  expect(await pattern.evaluate((key) => key.getClientRects().length)).toBe(1)
})

test('a set of limits is previewed with estimates and then set; a mistake in it is answered in words', async () => {
  const { shaper, url } = await openService({ '*': '500, 50/s' })
  await enqueueJobs(shaper, 'openai/gpt', 300)
  const { page, faults } = await openTab(browser)
  await page.goto(`${url}/?bucket=openai%2Fgpt`)
  await page.getByRole('button', { name: 'Change limit…' }).click()
  const dialog = page.getByRole('dialog')
  const field = dialog.getByLabel('Limit', { exact: true })
  await field.fill('500, 50/s, 90,000 tokens/minute')
  await expect.poll(() => dialog.getByRole('alert').innerText()).toContain('90000')
  await field.fill('500, 50/s, 100/hour, 50 at once')
  const preview = dialog.getByRole('region', { name: 'What this would do' })
  await expect.poll(() => preview.innerText()).toMatch(/6\.0 s → 2h 00m\s+estimate/)
  expect(await preview.locator('tbody tr').first().innerText()).toMatch(/6\.0 s → ~2h 00m/)
  await keepScreenshot(page, 'parts-dialog')
  await dialog.getByRole('button', { name: 'Change limit' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(shaper.limits.resolve('openai/gpt').limit).toBe('500, 50/s, 100/hour, 50 at once')
  await page.locator('.part').first().waitFor()
  // The refused preview is an error of the network, which the browser reports.
  expect(faults.filter((fault) => !fault.includes('422'))).toEqual([])
})
