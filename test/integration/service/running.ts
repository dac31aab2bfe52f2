import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { launch } from '../../support/launch.ts'

/** Writes a configuration file of its own for a test. */
export function configFile(config: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'velvet-rope-service-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'velvet-rope.yaml')
  writeFileSync(file, stringify(config))
  return file
}

/** What else the machine does is no reason to refuse what a test asks. */
const NEVER_BUSY = { VELVET_ROPE_MAX_LAG_MS: '600000' }

/** A service in a process of its own, and where it listens. */
export async function serve(config: object, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const file = configFile({ listen: '127.0.0.1:0', ...config })
  const service = launch(['serve', '--config', file, ...flags], '', { ...NEVER_BUSY, ...env })
  const [, url] = await service.saidLike(/"url":"(http:[^"]+)"/)
  return { ...service, file, url: url! }
}

/** A worker that forwards, ready to take jobs; with a configuration, or a file that there is. */
export async function forwardingWorker(config: object | string) {
  const file = typeof config === 'string' ? config : configFile(config)
  const worker = launch(['work', '--forward', '--config', file])
  await worker.said('"message":"working"')
  return worker
}

export async function post(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** The lines of a log, read. */
export function logOf(stderr: string): Record<string, unknown>[] {
  return stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
