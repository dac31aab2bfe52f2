import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import type { TestProject } from 'vitest/node'
import { ensureProgram } from './programs.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    browserPath: string
  }
}

const PAGE = fileURLToPath(new URL('../../src/dashboard/page', import.meta.url))

/** Once for each run: the browser of the tests is the one that CHROMIUM names, or Debian's; and the page is built. */
export default async function setup(project: TestProject): Promise<void> {
  const browserPath = process.env['CHROMIUM'] || '/usr/bin/chromium'
  ensureProgram({
    debianPackage: 'chromium',
    wants: 'Chromium',
    advice: 'install chromium, or let CHROMIUM say where it is',
    isThere: () => existsSync(browserPath),
  })
  await build({ root: PAGE, configFile: `${PAGE}/vite.config.ts`, logLevel: 'warn' })
  project.provide('browserPath', browserPath)
}
