import { ScriptCalls } from '../../../src/redis/scripts/script-calls.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'

/** What an answer has beside its jobs. */
const HEAD = 5
const OF_JOB = 11

/** Writes down how many jobs of a fast key a worker gets at once, to start them one after the other. */
export function recordRuns(file: HistoryFile): void {
  const { send } = ScriptCalls.prototype
  ScriptCalls.prototype.send = async function (script, key, values) {
    const reply = await send.call(this, script, key, values)
    const jobs = script.verb === 'follow' && Array.isArray(reply) ? (reply.length - HEAD) / OF_JOB : 0
    if (jobs > 0) file.write({ kind: 'run', at: hostNow(), jobs })
    return reply
  }
}
