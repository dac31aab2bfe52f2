import { type Browser, chromium } from 'playwright-core'

/** Works as root in a container, without network access of its own. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
]
const BROWSER = process.env['CHROMIUM'] || '/usr/bin/chromium'

/** Counts the frames of the page that is open, and the time from each to the next. */
const COUNT = `(forMs) => new Promise((resolve) => {
  const gaps = []
  let before = performance.now()
  const until = before + forMs
  const step = (now) => {
    gaps.push(now - before)
    before = now
    if (now < until) requestAnimationFrame(step)
    else resolve(gaps)
  }
  requestAnimationFrame(step)
})`

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: BROWSER, args: FLAGS })
}

/** Milliseconds from frame to frame, on the overview while it is live. */
export async function framesOf(browser: Browser, url: string, settleMs: number, forMs: number) {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } })
  await page.goto(url)
  await page.locator('.rate.is-departures .rate-number:not(:has-text("–"))').waitFor({ timeout: 60_000 })
  await page.waitForTimeout(settleMs)
  const gaps = await page.evaluate<number[]>(`(${COUNT})(${forMs})`)
  const rows = await page.locator('.bucket-table tbody tr').count()
  await page.close()
  return { gaps, rows }
}
