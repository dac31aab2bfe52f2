import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Config } from '../../../src/config/config.ts'
import { InvalidConfigError } from '../../../src/config/config-error.ts'
import { type ConfigSources, loadConfig } from '../../../src/config/load-config.ts'

/** A folder of its own for one test. */
export function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'velvet-rope-config-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes `velvet-rope.yaml` into a new folder and loads it from there. */
export function load(
  text: string | Uint8Array,
  { env = {}, ...sources }: Partial<ConfigSources> = {},
): Promise<Config> {
  const cwd = makeFolder()
  writeFileSync(join(cwd, 'velvet-rope.yaml'), text)
  return loadConfig({ cwd, env, ...sources })
}

/** Without a file. */
export function loadNothing(sources: Partial<ConfigSources>): Promise<Config> {
  return loadConfig({ cwd: makeFolder(), env: {}, ...sources })
}

/** What a load that must fail says, a line for each problem. */
export async function refusal(loading: Promise<Config>): Promise<string[]> {
  const error: unknown = await loading.then(
    () => undefined,
    (thrown) => thrown,
  )
  if (!(error instanceof InvalidConfigError)) throw new Error('expected a refusal', { cause: error })
  return error.message.split('\n')
}
