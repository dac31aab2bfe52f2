import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapCodeStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { ProcessSample } from './plan.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const delay = monitorEventLoopDelay({ resolution: 10 })
delay.enable()

/** What this process takes of the machine, after it has collected its garbage. */
export function sampleProcess(): ProcessSample {
  collect()
  const { heapUsed, rss } = process.memoryUsage()
  const lagMs = delay.percentile(99) / 1e6
  delay.reset()
  const compiled = getHeapCodeStatistics()
  const code = compiled.code_and_metadata_size + compiled.bytecode_and_metadata_size
  const handles = process.getActiveResourcesInfo().filter(isLasting).length
  return { heap: heapUsed - code, code, rss, handles, lagMs }
}

/** Timers and requests come and go with the jobs that are under way. */
function isLasting(name: string): boolean {
  return name !== 'Timeout' && name !== 'Immediate' && !name.endsWith('ReqWrap') && !name.endsWith('Wrap')
    ? true
    : name === 'TCPSocketWrap' || name === 'TCPServerWrap' || name === 'PipeWrap'
}
