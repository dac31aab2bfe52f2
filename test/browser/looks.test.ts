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

/** A service with some traffic. */
async function openBusyService() {
  const service = await openService({ '*': '60, 10/s', 'stripe/*': '100, 1 per 20 s', demo: '8, 1/h' })
  const { shaper } = service
  shaper.work(({ data }) => (data === 'fails' ? Promise.reject(new Error('no')) : undefined))
  for (const [index, key] of ['twilio/acme', 'twilio/bolt', 'hubspot/7', 'mailgun/12'].entries()) {
    await enqueueJobs(shaper, key, 50 - 12 * index)
  }
  await enqueueJobs(shaper, 'stripe/acct_42', 64)
  await enqueueJobs(shaper, 'demo', 9)
  await shaper.freeze('hubspot/7', 120_000)
  await shaper.pause('mailgun/12')
  await shaper.limits.set('stripe/acct_42', '100, 1 per 10 s', { by: 'marta' })
  const bursts = setInterval(() => void enqueueJobs(shaper, 'twilio/acme', 22), 2_000)
  onTestFinished(() => clearInterval(bursts))
  return service
}

const VIEWS = [
  ['overview', '/', 'Buckets', '.rate.is-departures .rate-number:not(:has-text("–"))'],
  ['bucket', '/?bucket=stripe%2Facct_42', 'stripe/acct_42', '.line-job'],
  ['rules', '/?page=rules', 'Rules', 'table tbody tr'],
] as const

test.each([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['narrow', { colorScheme: 'light', viewport: { width: 400, height: 860 } }],
] as const)(
  'every view is accessible and fits its window, and leaves a screenshot: %s',
  async (name, options) => {
    const { url } = await openBusyService()
    for (const [view, path, heading, settled] of VIEWS) {
      const { page, faults } = await openTab(browser, { ...options, reducedMotion: 'reduce' })
      await page.goto(`${url}${path}`)
      await page.getByRole('heading', { name: heading }).first().waitFor()
      await page.getByRole('status').getByText('Live').waitFor()
      await page.locator(settled).first().waitFor()
      expect([view, await isAsWideAsItsWindow(page)]).toEqual([view, true])
      await keepScreenshot(page, `${view}-${name}`)
      expect([view, await findings(page)]).toEqual([view, []])
      expect([view, faults]).toEqual([view, []])
    }
  },
  120_000,
)

test('dialogs are accessible', async () => {
  const { url } = await openBusyService()
  const { page } = await openTab(browser, { colorScheme: 'dark', reducedMotion: 'reduce' })
  await page.goto(`${url}/?bucket=stripe%2Facct_42`)
  for (const name of ['Freeze…', 'Pause…', 'Change limit…']) {
    await page.getByRole('button', { name }).click()
    await page.getByRole('dialog').waitFor()
    expect([name, await findings(page)]).toEqual([name, []])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
})

test('on a narrow screen the state of a bucket is visible, and 99 of 100 is neither full nor 100 %', async () => {
  const { shaper, url } = await openService({ '*': '100, 1/h' })
  await enqueueJobs(shaper, 'calm', 40)
  await enqueueJobs(shaper, 'cold', 40)
  await shaper.freeze('cold', 3_600_000)
  await enqueueJobs(shaper, 'nearly', 99)
  const { page, faults } = await openTab(browser)
  await page.setViewportSize({ width: 400, height: 800 })
  await page.goto(`${url}/`)
  const badge = (key: string, state: string) =>
    page.getByRole('row', { name: new RegExp(key) }).locator(`.badge.state-${state} .icon`)
  await badge('cold', 'frozen').waitFor()
  await badge('calm', 'waiting').waitFor()
  expect(
    await page.locator('table').evaluate((table) => table.scrollWidth <= table.parentElement!.clientWidth),
  ).toBe(true)
  expect(await page.getByRole('row', { name: /nearly/ }).innerText()).toContain('99%')
  await keepScreenshot(page, 'states-narrow')
  await page.goto(`${url}/?bucket=nearly`)
  await page.getByText('of 100 waiting, 99%').waitFor()
  expect(await page.locator('.full-sign').count()).toBe(0)
  await enqueueJobs(shaper, 'nearly', 1)
  await page.locator('.full-sign').getByText('Full', { exact: true }).waitFor()
  expect(faults).toEqual([])
})
