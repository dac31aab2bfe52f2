import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { inject, onTestFinished } from 'vitest'
import { PATIENCE_MS } from '../support/patience.ts'

/** Flags for a browser that runs as root in a container, without a network. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const SCREENSHOTS = fileURLToPath(new URL('screenshots/', import.meta.url))

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: inject('browserPath'), args: FLAGS })
}

/** A tab, and its faults: console errors, thrown errors, and violations of the page's policy. */
export async function openTab(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; faults: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...options })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => void faults.push(`thrown: ${error.message}`))
  await page.exposeFunction('reportViolation', (what: string) => void faults.push(`policy: ${what}`))
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', (event) =>
      reportViolation(event.violatedDirective + ' ' + event.blockedURI))`,
  )
  return { page, faults }
}

/** Saves a screenshot for people to look at. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png` })
}
