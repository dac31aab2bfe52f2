import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { findings, isAsWideAsItsWindow } from './fitness.ts'
import { enqueueJobs, openService } from './service.ts'
import { keepScreenshot, openBrowser, openTab } from './stage.ts'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

/** Two accounts of one provider, one of which floods, and a family with two parts of its own. Its work lasts for minutes. */
async function openServiceWithFamilies() {
  const service = await openService({
    '*': '400, 50/s',
    'stripe/': '600, 3/s, 90000/day, 40 at once',
    'stripe/acct_42': '400, 50/s, weight 3',
    'stripe/eu/': '200, 10/s, weight 2',
    'twilio/*/': '100, 1/s',
  })
  const { shaper } = service
  shaper.work(() => undefined, { concurrency: 100 })
  await enqueueJobs(shaper, 'stripe/acct_1', 300)
  await enqueueJobs(shaper, 'stripe/acct_2', 20)
  await enqueueJobs(shaper, 'stripe/acct_42', 80)
  await enqueueJobs(shaper, 'stripe/eu/shop_1', 40)
  await enqueueJobs(shaper, 'stripe/eu/shop_2', 10)
  await enqueueJobs(shaper, 'twilio/AC1/+1555', 80)
  await enqueueJobs(shaper, 'twilio/AC2/+1556', 8)
  await shaper.freeze('twilio/AC2/', 600_000)
  return service
}

/** The head of the shares, once starts were counted for a second or more. */
const COUNTED = 'th.col-share:has-text("in the last")'

const family = (page: Page, path: string) => page.locator('.family').filter({ hasText: path })

test.each([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['narrow', { colorScheme: 'light', viewport: { width: 400, height: 860 } }],
  ['narrow-dark', { colorScheme: 'dark', viewport: { width: 400, height: 860 } }],
] as const)('families are shown, accessible, and fit the window: %s', async (name, options) => {
  const { url } = await openServiceWithFamilies()
  const open = async (path: string, settled: string) => {
    const { page, faults } = await openTab(browser, { ...options, reducedMotion: 'reduce' })
    await page.goto(`${url}${path}`)
    await page.getByRole('status').getByText('Live').waitFor()
    await page.locator(settled).first().waitFor()
    return { page, faults }
  }
  const check = async (view: string, { page, faults }: Awaited<ReturnType<typeof open>>, isGone = false) => {
    await keepScreenshot(page, `${view}-${name}`)
    expect([view, await isAsWideAsItsWindow(page)]).toEqual([view, true])
    expect([view, await findings(page)]).toEqual([view, []])
    // The browser reports each answer that there is nothing.
    expect([view, faults.filter((fault) => !isGone || !fault.includes('404'))]).toEqual([view, []])
  }
  const overview = await open('/', '.family')
  await overview.page.getByRole('button', { name: 'Children of stripe/', exact: true }).click()
  await overview.page.locator(COUNTED).waitFor()
  await check('families-overview', overview)
  await check('family', await open('/?family=stripe%2F', COUNTED))
  await check('family-gone', await open('/?family=other%2F', '.empty'), true)
  await check('family-rules', await open('/?page=rules', '.rule-table'))
})

test('a row of a family opens and shows its children by weight, what waits in each, and what each started', async () => {
  const { shaper, url } = await openServiceWithFamilies()
  // However slow the machine is, work is left while the page is looked at.
  await shaper.freeze('stripe/', 600_000)
  const { page, faults } = await openTab(browser)
  await page.goto(url)
  await family(page, 'twilio/AC2/').locator('.state-frozen').waitFor()
  expect(await family(page, 'stripe/eu/').innerText()).toContain('2 children')
  const opener = page.getByRole('button', { name: 'Children of stripe/', exact: true })
  expect(await opener.getAttribute('aria-expanded')).toBe('false')
  await opener.click()
  expect(await opener.getAttribute('aria-expanded')).toBe('true')
  const rows = page.locator('.children-list tbody tr')
  await expect
    .poll(() => rows.locator('.row-link').allInnerTexts())
    .toEqual(['stripe/acct_42', 'stripe/eu/', 'stripe/acct_1', 'stripe/acct_2'])
  expect(await rows.locator('.col-weight').allInnerTexts()).toEqual(['3', '2', '1', '1'])
  // One more job of each starts and is counted.
  await shaper.unfreeze('stripe/')
  const starts = rows.nth(0).locator('.share-text .of')
  await expect.poll(async () => Number(await starts.innerText())).toBeGreaterThan(2)
  const { nextDepartureAt } = (await shaper.inspect('stripe/'))!
  expect(nextDepartureAt).toBeDefined()
  await shaper.freeze('stripe/', 600_000)
  await rows.nth(1).locator('.row-link').click()
  await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toContain('stripe/eu/')
  expect(page.url()).toContain('?family=stripe%2Feu%2F')
  // Its bucket says which total it shares.
  await page.getByRole('link', { name: 'stripe/eu/shop_1' }).click()
  await page.locator('.facts').getByRole('link', { name: 'stripe/eu/' }).click()
  await page.locator('.family-facts').getByRole('link', { name: 'stripe/', exact: true }).click()
  await expect.poll(() => page.title()).toMatch(/^stripe\/ ·/)
  await page.locator('.part').getByText('40 at once').waitFor()
  expect(faults).toEqual([])
})

test('what a family started is shared by weight, and the mark says what each would have', async () => {
  const { shaper, url } = await openService({
    '*': '900, 100/s',
    'a/': '2000, 10/s',
    'a/b': '900, 100/s, weight 3',
  })
  shaper.work(() => undefined, { concurrency: 100 })
  for (const key of ['a/b', 'a/c']) await enqueueJobs(shaper, key, 900)
  const { page, faults } = await openTab(browser)
  await page.goto(`${url}/?family=a%2F`)
  const share = page.locator('.children-list tbody .share')
  await share.nth(1).waitFor()
  // Of both in one picture, so that they are of one window.
  let starts: number[] = []
  const startsOfFirst = async () => {
    starts = (await share.locator('.of').allInnerTexts()).map(Number)
    return starts[0] ?? 0
  }
  await expect.poll(startsOfFirst).toBeGreaterThanOrEqual(30)
  // Three to one; the two are not asked for in one moment.
  expect(starts[0]!).toBeGreaterThan(starts[1]!)
  expect(Number.parseInt(await share.nth(0).locator('.share-text').innerText(), 10)).toBeGreaterThan(50)
  expect(await share.nth(0).getAttribute('title')).toBe('its share by weight: 75%')
  expect(faults).toEqual([])
})

test('a family is frozen, paused and resumed, and its limit is changed', async () => {
  const { shaper, url } = await openService({ '*': '50, 1/h', '*/': '40, 1/h' })
  for (const key of ['a/x', 'a/y']) await enqueueJobs(shaper, key, 5)
  // A dialog that fades in has too little contrast at first.
  const { page, faults } = await openTab(browser, { reducedMotion: 'reduce' })
  await page.goto(`${url}/?family=a%2F`)
  const dialog = page.getByRole('dialog')
  const act = async (name: string, submit: string) => {
    await page.getByRole('button', { name, exact: true }).click()
    expect(await dialog.innerText()).toMatch(/whole family: a and all keys below it/)
    expect([name, await findings(page)]).toEqual([name, []])
    await dialog.getByRole('button', { name: submit, exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await act('Freeze…', 'Freeze for 1m')
  await page.getByText(/Frozen until/).waitFor()
  expect(await shaper.inspect('a/')).toMatchObject({ state: 'frozen' })
  await act('Unfreeze…', 'Unfreeze')
  await act('Pause…', 'Pause')
  await page.getByText('until the family is resumed').waitFor()
  expect(await shaper.inspect('a/')).toMatchObject({ paused: true })
  await act('Resume…', 'Resume')
  await page.getByText('Paused.').waitFor({ state: 'detached' })

  await page.getByRole('button', { name: 'Change limit…' }).click()
  await dialog.getByLabel('Limit', { exact: true }).fill('8, 2/h')
  await dialog.getByText('one family').waitFor()
  expect(await dialog.innerText()).toMatch(/In one family more waits than the total would allow/)
  expect(await dialog.locator('.preview-samples tbody tr').innerText()).toMatch(
    /a\/\s+25%\s+→\s+125%\s+10h 00m\s+→\s+5h 00m/,
  )
  expect(await findings(page)).toEqual([])
  await keepScreenshot(page, 'family-limit-dialog')
  await dialog.getByRole('button', { name: 'Change limit' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(shaper.limits.get('a/')?.limit).toBe('8, 2/h')
  await page.locator('.family-facts').getByText('8, 2/h').waitFor()
  expect(faults).toEqual([])
})

test('a family appears when its first job comes, and many are shown on demand', async () => {
  const { shaper, url } = await openService({ '*': '50, 1/h', '*/': '40, 1/h' })
  const { page, faults } = await openTab(browser)
  await page.clock.install()
  onTestFinished(() => page.clock.resume())
  await page.goto(url)
  await page.getByRole('status').getByText('Live').waitFor()
  expect(await page.locator('.families').count()).toBe(0)
  for (let n = 0; n < 9; n++) await enqueueJobs(shaper, `f${n}/x`, n + 1)
  await page.clock.runFor(11_000)
  await expect.poll(() => page.locator('.family').count()).toBe(6)
  await page.getByRole('button', { name: 'Show 9' }).click()
  await expect.poll(() => page.locator('.family').count()).toBe(9)
  expect(faults).toEqual([])
})
