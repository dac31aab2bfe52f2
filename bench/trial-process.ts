import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Sample, Trial } from './scenarios/scenario.ts'
import { SERVERS, type ServerName } from './servers.ts'

const MEASURE = fileURLToPath(new URL('./measure.ts', import.meta.url))
const NODE_OPTIONS = ['--import', 'tsx', '--expose-gc', '--max-old-space-size=6144']

/**
 * Measures in a fresh process, so that no trial is affected by the garbage or the warm code of another; and
 * where a server is needed, with a fresh one, which ends with the trial.
 */
export async function runTrial(
  trial: Trial,
  timeLimitMs: number,
  serverName: ServerName | undefined,
): Promise<Sample | Failure> {
  if (serverName === undefined) return measureApart(trial, timeLimitMs, '')
  const server = await SERVERS[serverName].start()
  try {
    return await measureApart(trial, timeLimitMs, server.address)
  } finally {
    await server.stop()
  }
}

interface Failure {
  readonly failure: string
}

async function measureApart(trial: Trial, timeLimitMs: number, address: string): Promise<Sample | Failure> {
  const child = fork(MEASURE, [JSON.stringify(trial), address], { execArgv: NODE_OPTIONS, silent: true })
  const abandon = () => void child.kill('SIGKILL')
  process.once('exit', abandon)
  let sample: Sample | undefined
  let complaint = ''
  let isOverdue = false
  child.on('message', (message: Sample) => {
    sample = message
  })
  child.stdout!.resume()
  child.stderr!.on('data', (chunk: Buffer) => {
    complaint += chunk.toString()
  })
  const timer = setTimeout(() => {
    isOverdue = child.kill('SIGKILL')
  }, timeLimitMs)
  await once(child, 'close')
  clearTimeout(timer)
  process.off('exit', abandon)
  if (sample !== undefined) return sample
  if (isOverdue) return { failure: `over ${timeLimitMs / 1_000} s` }
  if (complaint.includes('heap out of memory')) return { failure: 'out of memory' }
  // The others are still worth measuring, but the failure must be visible.
  console.error(`${trial.scenario} of ${trial.product}, ${trial.keys} keys, failed:\n${complaint}`)
  process.exitCode = 1
  return { failure: 'failed' }
}
