import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Sample, Trial } from './scenarios/scenario.ts'

const MEASURE = fileURLToPath(new URL('./measure.ts', import.meta.url))
const NODE_OPTIONS = ['--import', 'tsx', '--expose-gc', '--max-old-space-size=6144']

/** Measures in a fresh process, so that nobody pays for the garbage or enjoys the warm code of somebody else. */
export async function runTrial(trial: Trial, timeLimitMs: number): Promise<Sample | { failure: string }> {
  const child = fork(MEASURE, [JSON.stringify(trial)], { execArgv: NODE_OPTIONS, silent: true })
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
  if (sample !== undefined) return sample
  if (isOverdue) return { failure: `over ${timeLimitMs / 1_000} s` }
  if (complaint.includes('heap out of memory')) return { failure: 'out of memory' }
  throw new Error(`${trial.scenario} of ${trial.product} failed:\n${complaint}`)
}
