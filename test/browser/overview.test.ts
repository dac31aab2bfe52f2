import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { enqueueJobs, openService } from './service.ts'
import { keepScreenshot, openBrowser, openTab } from './stage.ts'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

/** Keys of the rows, from the top. */
const KEYS = '.bucket-table tbody .row-link'

test('arrivals and departures are drawn as they happen, and the chart moves', async () => {
  const { shaper, url } = await openService({ '*': '100, 10/s' })
  shaper.work(() => undefined)
  const bursts = setInterval(() => void enqueueJobs(shaper, 'twilio/acme', 15), 1_500)
  onTestFinished(() => clearInterval(bursts))
  const { page, faults } = await openTab(browser)
  await page.goto(url)
  await page.getByRole('status').getByText('Live').waitFor()
  const chart = page.locator('.flow-chart canvas').first()
  await chart.waitFor()
  const departures = page.locator('.rate.is-departures .rate-number')
  await expect.poll(() => departures.innerText()).toMatch(/^[1-9]\d*(\.\d)?\/s$/)
  const before = await chart.screenshot()
  await expect.poll(async () => (await chart.screenshot()).equals(before)).toBe(false)
  await page.getByText('twilio/acme').waitFor()
  expect(faults).toEqual([])
})

test('rows are filtered and sorted, and the URL keeps it', async () => {
  const { shaper, url } = await openService({ '*': '10, 1/h', 'mail/*': '100, 1/h' })
  for (const [key, jobs] of [
    ['sms/a', 9],
    ['sms/b', 6],
    ['sms/c', 2],
    ['mail/x', 90],
  ] as const) {
    await enqueueJobs(shaper, key, jobs)
  }
  await shaper.pause('sms/b')
  const { page, faults } = await openTab(browser)
  const keys = () => page.locator(KEYS).allInnerTexts()
  await page.goto(url)
  await expect.poll(keys).toEqual(['mail/x', 'sms/a', 'sms/b', 'sms/c'])

  const filter = page.getByLabel('Filter buckets')
  await filter.fill('sms fill > 50%')
  await expect.poll(keys).toEqual(['sms/a', 'sms/b'])
  await page.getByRole('button', { name: 'Bucket', exact: true }).click()
  const head = page.getByRole('columnheader', { name: 'Bucket', exact: true })
  await expect.poll(() => head.getAttribute('aria-sort')).toBe('ascending')
  await page.getByRole('button', { name: 'Bucket', exact: true }).click()
  await expect.poll(() => head.getAttribute('aria-sort')).toBe('descending')
  await page.mouse.move(5, 5)
  await expect.poll(keys).toEqual(['sms/b', 'sms/a'])

  await page.reload()
  await expect.poll(keys).toEqual(['sms/b', 'sms/a'])
  expect(await filter.inputValue()).toBe('sms fill > 50%')
  expect(await head.getAttribute('aria-sort')).toBe('descending')
  await page.goBack()
  await expect.poll(() => head.getAttribute('aria-sort')).toBe('ascending')

  await filter.fill('state:paused')
  await expect.poll(keys).toEqual(['sms/b'])
  await filter.fill('fill > lots')
  await page.getByRole('alert').waitFor()
  expect(await keys()).toEqual(['sms/b'])
  expect(faults).toEqual([])
})

test('the keyboard reaches the filter, the rows and a bucket', async () => {
  const { shaper, url } = await openService({ '*': '10, 1/h' })
  await enqueueJobs(shaper, 'one', 4)
  await enqueueJobs(shaper, 'two', 2)
  const { page, faults } = await openTab(browser)
  await page.goto(url)
  await page.getByText('two', { exact: true }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('t')
  await expect.poll(() => page.locator(KEYS).allInnerTexts()).toEqual(['two'])
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.press('Delete')
  await expect.poll(() => page.locator(KEYS).count()).toBe(2)
  await page.locator(KEYS).first().focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toContain('two')
  expect(page.url()).toContain('?bucket=two')
  expect(faults).toEqual([])
})

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  'javascript:alert(3)',
  '\u202eevil\u2066',
  '🕺'.repeat(64),
  '{{7*7}}<%= 7*7 %>',
]

test('keys are shown as text, even hostile ones', async () => {
  const { shaper, url } = await openService({ '*': '10, 1/h' })
  for (const key of HOSTILE) await enqueueJobs(shaper, key, 3)
  const { page, faults } = await openTab(browser)
  page.on('dialog', (dialog) => void faults.push(`dialog: ${dialog.message()}`))
  await page.goto(url)
  await expect.poll(() => page.locator(KEYS).count()).toBe(HOSTILE.length)
  const shown = await page.locator(KEYS).allInnerTexts()
  expect(shown).toContain(HOSTILE[0])
  expect(shown).toContain('\\u{202e}evil\\u{2066}')
  expect(shown.some((key) => key.startsWith('🕺') && key.includes('…'))).toBe(true)
  expect(await page.locator('table img, table script').count()).toBe(0)
  await keepScreenshot(page, 'hostile-keys')
  for (const key of HOSTILE) {
    await page.goto(`${url}/?bucket=${encodeURIComponent(key)}`)
    await page.locator('.line-count').getByText('of 10 waiting').waitFor()
    expect(await page.locator('h1 img, h1 script').count()).toBe(0)
  }
  expect(faults).toEqual([])
})
