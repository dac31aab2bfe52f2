import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The violations that axe finds, and where. */
export async function findings(page: Page): Promise<string[]> {
  // As from the console: the policy of the page allows only its own scripts.
  await page.evaluate(AXE)
  const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: { id: string; impact: string; nodes: { target: string[] }[] }[]
  }
  return found.violations.map(
    ({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
  )
}

/** Whether nothing sticks out to the side. */
export function isAsWideAsItsWindow(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(
    'document.documentElement.scrollWidth === document.documentElement.clientWidth',
  )
}
