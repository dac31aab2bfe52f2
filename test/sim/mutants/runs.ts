import type { Mutant } from './mutant.ts'

/** What a worker can get wrong that starts jobs without asking for each slot. */
export const RUNS: readonly Mutant[] = [
  {
    name: 'run-keeps-its-grid',
    subject: 'runs',
    what: 'a start that came too late for its slot does not move those behind it, so that they catch up',
    edits: [
      {
        file: 'src/redis/slots/slot-run.ts',
        find: 'this.#from = isLate ? start.localAt : localSlot',
        replace: 'this.#from = localSlot',
      },
    ],
  },
  {
    name: 'run-at-an-older-pace',
    subject: 'runs',
    what: 'a job that was granted its slot before the limit changed brings the pace of before back for those behind it',
    edits: [
      {
        file: 'src/redis/slots/slot-run.ts',
        find: 'this.#from = isLate ? start.localAt : localSlot',
        replace:
          'this.#from = isLate ? start.localAt : localSlot\n' +
          '    if (this.#pace !== undefined) this.#pace = { ...this.#pace, interval: runInterval, tolerance }',
      },
    ],
  },
  {
    name: 'run-past-a-missing-job',
    subject: 'runs',
    what: 'a job of a run that does not start does not end the run, and those behind it start before it',
    edits: [
      {
        file: 'src/redis/slots/start-sequence.ts',
        find: "if (entry.fate !== 'started') this.#runs.stop(entry.job.key)",
        replace: '',
      },
      {
        file: 'src/redis/slots/start-sequence.ts',
        find: 'queue.isFirst(entry) ? this.#runs.grantOf(entry) : undefined',
        replace: 'this.#runs.grantOf(entry)',
      },
      {
        file: 'src/redis/slots/redis-gate.ts',
        find: '    this.#runs.stop(job.key)\n    this.#queues.get(job.key)?.drop(entry)',
        replace: '    this.#queues.get(job.key)?.drop(entry)',
      },
    ],
  },
  {
    name: 'run-of-two-workers',
    subject: 'runs',
    seeds: 400,
    what: 'a worker gets jobs of a bucket of which another has some that have not started',
    edits: [
      {
        file: 'src/redis/verbs/follow.lua',
        find: 'if not is_mine and not is_again then return false end',
        replace: 'if not is_mine and not is_again then return true end',
      },
    ],
  },
  {
    name: 'run-answer-lost-behind-others',
    subject: 'passing totals',
    what: 'a worker is not told again which jobs it was given where others were handed over behind them',
    edits: [
      {
        file: 'src/redis/verbs/follow.lua',
        find: 'if not is_mine and not is_again then return false end',
        replace: 'if not is_mine then return false end',
      },
    ],
  },
  {
    name: 'run-answer-lost',
    subject: 'runs',
    what: 'a worker that did not hear which jobs it was given is not told again, and they wait for the end of their leases',
    edits: [
      {
        file: 'src/redis/verbs/follow.lua',
        find: 'if is_mine and last.epoch <= known then return true end',
        replace: 'if is_mine then return true end',
      },
    ],
  },
  {
    name: 'run-for-one-that-gave-up',
    subject: 'held questions',
    what: 'a question for more jobs is answered also when the worker has given up waiting for it',
    edits: [
      {
        file: 'src/redis/verbs/follow.lua',
        find: "now > latest and { 'late' } or answer_to(",
        replace: 'answer_to(',
      },
    ],
  },
]
