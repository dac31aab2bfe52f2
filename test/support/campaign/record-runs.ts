import { ScriptCalls } from '../../../src/redis/scripts/script-calls.ts'
import type { HistoryFile } from './history-file.ts'
import { hostNow } from './host-time.ts'

/** What a reply has before its answers, and an answer before its jobs. */
const HEAD = 2
const HEAD_OF_ANSWER = 4
const OF_JOB = 11

/** Writes down how many jobs of a fast key a worker gets at once, to start them one after the other. */
export function recordRuns(file: HistoryFile): void {
  const { send } = ScriptCalls.prototype
  ScriptCalls.prototype.send = async function (script, key, values) {
    const reply = await send.call(this, script, key, values)
    const answers: unknown[] = script.verb === 'follow' && Array.isArray(reply) ? reply.slice(HEAD) : []
    for (const answer of answers) {
      const jobs = Array.isArray(answer) ? (answer.length - HEAD_OF_ANSWER) / OF_JOB : 0
      if (jobs > 0) file.write({ kind: 'run', at: hostNow(), jobs })
    }
    return reply
  }
}
