import { createHash } from 'node:crypto'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { crowd, openHouse } from './house.ts'
import { openBrowser, openTab } from './stage.ts'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

test('a bucket is frozen, paused and resumed, after it was asked, and that is seen', async () => {
  const { shaper, url } = await openHouse({ '*': '20, 1/h' })
  await crowd(shaper, 'stripe/acct_42', 5)
  const { page, faults } = await openTab(browser)
  await page.goto(`${url}/?bucket=stripe%2Facct_42`)
  await page.getByRole('button', { name: 'Freeze…' }).click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.innerText()).toContain('This bucket only: stripe/acct_42')
  await dialog.getByRole('button', { name: '5m', exact: true }).click()
  expect((await shaper.inspect('stripe/acct_42'))?.state).not.toBe('frozen')
  await dialog.getByRole('button', { name: 'Freeze for 5m' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect((await shaper.inspect('stripe/acct_42'))?.state).toBe('frozen')
  await page.locator('h1').getByText('frozen').waitFor()

  await page.getByRole('button', { name: 'Pause…' }).click()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect((await shaper.inspect('stripe/acct_42'))?.paused).toBe(false)
  await page.getByRole('button', { name: 'Pause…' }).click()
  await dialog.getByRole('button', { name: /^Pause/ }).click()
  await page.locator('h1').getByText('paused').waitFor()
  expect((await shaper.inspect('stripe/acct_42'))?.paused).toBe(true)
  await page.getByRole('button', { name: 'Resume…' }).click()
  await dialog.getByRole('button', { name: /^Resume/ }).click()
  await expect.poll(async () => (await shaper.inspect('stripe/acct_42'))?.paused).toBe(false)
  expect(faults).toEqual([])
})

test('a limit is changed for the scope that was chosen, after its dry run, and those who wait follow it', async () => {
  const { shaper, url } = await openHouse({ '*': '100, 1/h', stripe: '50, 1/h' })
  shaper.work(() => undefined)
  await crowd(shaper, 'stripe/acct_42', 40)
  await crowd(shaper, 'stripe/acct_43', 10)
  const { page, faults } = await openTab(browser)
  await page.goto(`${url}/?bucket=stripe%2Facct_42`)
  await page.getByRole('button', { name: 'Change limit…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('The rule that governs it now').click()
  await dialog.getByLabel('Limit', { exact: true }).fill('50, 20/s')
  const preview = dialog.getByRole('region', { name: 'What this would do' })
  await expect.poll(() => preview.innerText()).toContain('2 of 2')
  expect(shaper.limits.resolve('stripe/acct_42').limit).toBe('50, 1/h')
  await dialog.getByRole('button', { name: 'Change limit' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(shaper.limits.resolve('stripe/acct_43')).toMatchObject({ limit: '50, 20/s', origin: 'override' })
  await expect
    .poll(async () => (await shaper.inspect('stripe/acct_42'))?.waiting ?? 0, { timeout: 10_000 })
    .toBeLessThan(20)
  await expect.poll(() => page.locator('.rope-count').innerText()).not.toContain('39')
  expect(faults).toEqual([])
})

test('a change that somebody else has overtaken is told, and nothing is done', async () => {
  const { shaper, url } = await openHouse({ '*': '100, 1/h' })
  await crowd(shaper, 'a', 3)
  const { page } = await openTab(browser)
  await page.goto(`${url}/?bucket=a`)
  await page.getByRole('button', { name: 'Change limit…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Limit', { exact: true }).fill('5, 1/h')
  await dialog.getByRole('region', { name: 'What this would do' }).waitFor()
  await shaper.limits.set('b', '9, 9/s', { by: 'marta' })
  await dialog.getByRole('button', { name: 'Change limit' }).click()
  await dialog.getByRole('button', { name: /again|look|reload/i }).waitFor()
  expect(shaper.limits.list().map(({ pattern }) => pattern)).toEqual(['*', 'b'])
})

test('the rules show where each comes from, and by whom', async () => {
  const { shaper, url } = await openHouse({ '*': '100, 10/s' })
  await shaper.limits.set('stripe/*', '50, 5/s', { by: 'marta' })
  shaper.limits.setLocal('sms', '5, 1/s')
  const { page, faults } = await openTab(browser)
  await page.goto(`${url}/?page=rules`)
  const row = (pattern: string) => page.getByRole('row').filter({ hasText: pattern }).first()
  await row('stripe/*').getByText('marta').waitFor()
  await row('sms').waitFor()
  await shaper.limits.set('later', '1, 1/s')
  await row('later').waitFor()
  expect(faults).toEqual([])
})

const digest = (token: string) => createHash('sha256').update(token).digest('hex')

test('a service with tokens asks for one, and shows what it may see and do', async () => {
  const tokens = [{ name: 'ann', sha256: digest('let-me-see'), scopes: ['read'] as const, prefixes: ['sms'] }]
  const { shaper, url } = await openHouse({ '*': '100, 1/h' }, { tokens })
  await crowd(shaper, 'sms/a', 3)
  await crowd(shaper, 'mail/b', 3)
  const { page } = await openTab(browser)
  await page.goto(url)
  await page.getByLabel('Access token').fill('wrong')
  await page.getByRole('button', { name: 'Come in' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Access token').fill('let-me-see')
  await page.getByRole('button', { name: 'Come in' }).click()
  await page.getByText('sms/a').waitFor()
  expect(await page.getByText('mail/b').count()).toBe(0)
  await page.getByText('sms/a').click()
  await page.locator('.rope-count').waitFor()
  expect(await page.getByRole('button', { name: 'Freeze…' }).count()).toBe(0)
})
