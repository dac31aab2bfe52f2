import { randomBytes } from 'node:crypto'
import { BackendUnavailableError, IdConflictError, NoLimitError, ShardCountError } from '../../core/errors.ts'
import type { Admission } from '../../core/job.ts'
import type { Rule } from '../../core/rule-book.ts'
import type { FullMemory } from '../connection/full-memory.ts'
import type { Holding, NamedRequest, SharedAdmission, SharedJob } from '../protocol/shared-backend.ts'
import { ruleValues, type SharedRules } from '../rules/shared-rules.ts'
import { Lane } from '../scripts/lane.ts'
import {
  admitReply,
  cancelReply,
  forecastReply,
  holdReply,
  inVerdicts,
  verdictReply,
} from '../scripts/replies.ts'
import { defineScript, parseReply } from '../scripts/script.ts'
import { sizeOfSlice } from '../scripts/slices.ts'
import type { Store } from '../scripts/store.ts'
import { admitValues } from './admit-values.ts'
import { acceptance, admissionOf, refusal } from './job-answers.ts'

const admitScript = defineScript('admit', import.meta.url, admitReply)
const cancelScript = defineScript('cancel', import.meta.url, cancelReply)
const forecastScript = defineScript('forecast', import.meta.url, forecastReply)
const holdScript = defineScript('hold', import.meta.url, holdReply)

/** Calls of `admit` under way to one shard. */
const LANES = 4
/** Somebody who changes the rule book all the time must not keep others out for ever. */
const MOST_TRIES = 20

interface Cancellation {
  readonly id: string
  /** The caller of a turn asks. */
  readonly isCaller: boolean
  /** By which the same request is known again. */
  readonly operation: string
}

/** What producers and operators do. */
export class ProducerVerbs {
  readonly #store: Store
  readonly #rules: SharedRules
  readonly #memory: FullMemory
  readonly #keepFinished: number
  readonly #lanes = new Map<number, Lane>()

  constructor(store: Store, rules: SharedRules, memory: FullMemory, keepFinished: number) {
    this.#store = store
    this.#rules = rules
    this.#memory = memory
    this.#keepFinished = keepFinished
  }

  /** Requests of one shard, in calls of 200 or 1 MB; if one of a call is invalid, none of it is admitted. */
  async admit(shard: number, requests: readonly NamedRequest[], now?: number): Promise<SharedAdmission[]> {
    if (this.#memory.isFull) {
      throw new BackendUnavailableError(
        'Redis is unavailable: 85 % of its memory (maxmemory) is used; nobody is admitted',
      )
    }
    const admissions: SharedAdmission[] = []
    while (admissions.length < requests.length) {
      const from = admissions.length
      const slice = requests.slice(from, from + sizeOfSlice(requests, from))
      admissions.push(...(await this.#laneOf(shard).run(() => this.#admit(shard, slice, now))))
    }
    return admissions
  }

  async forecast(shard: number, key: string, cost: number, now?: number): Promise<Admission> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const values = [this.#rules.version, key, cost, ...ruleValues(this.#ruleOf(key))]
      const reply = await this.#store.read(forecastScript, shard, values, now)
      if (reply[0] === 'old-book') await this.#rules.settle(shard, reply[1])
      else if (reply[2] === 'yes') {
        const [, now, , position, departsAt, waiting, capacity] = reply
        return acceptance({ id: '', key, position, departsAt, waiting, capacity }, now)
      } else return refusal(key, reply[3], reply[4], reply[5], reply[6], reply[1])
    }
    throw unsettled()
  }

  async cancel(
    shard: number,
    { id, isCaller, operation }: Cancellation,
    now?: number,
  ): Promise<SharedJob | undefined> {
    const values = [operation, this.#keepFinished, id, isCaller ? '1' : '0']
    const reply = await this.#store.write(cancelScript, shard, values, now)
    if (reply[0] !== 'ok') return undefined
    return { id, at: reply[1], key: reply[2], cost: reply[3], attempt: reply[4] }
  }

  async hold(
    shard: number,
    verb: 'freeze' | 'unfreeze' | 'pause' | 'resume',
    key: string,
    duration: number,
    now?: number,
  ): Promise<Holding> {
    const operation = randomBytes(12).toString('base64url')
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const values = [
        operation,
        verb,
        key,
        duration,
        this.#rules.version,
        this.#shards,
        ...ruleValues(this.#rules.book.find(key)),
      ]
      const reply = await this.#store.write(holdScript, shard, values, now)
      if (reply[0] === 'ok') {
        const [, at, until, departsAt, lifted] = reply
        return { at, until, departsAt, isLifted: lifted === 1 }
      }
      if (reply[0] === 'no-limit') throw new NoLimitError(key)
      if (reply[0] === 'shards') throw new ShardCountError(reply[1], this.#shards)
      if (reply[0] === 'old-book') await this.#rules.settle(shard, reply[1])
    }
    throw unsettled()
  }

  get #shards(): number {
    return this.#store.tags.length
  }

  #laneOf(shard: number): Lane {
    let lane = this.#lanes.get(shard)
    if (lane === undefined) {
      lane = new Lane(LANES)
      this.#lanes.set(shard, lane)
    }
    return lane
  }

  async #admit(shard: number, requests: readonly NamedRequest[], now?: number): Promise<SharedAdmission[]> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const values = admitValues(requests, this.#rules, this.#shards)
      const reply = await this.#store.write(admitScript, shard, values, now)
      if (reply[0] === 'ok') {
        const [, at, ...verdicts] = reply
        return inVerdicts(verdicts).map((verdict, index) => {
          const { id, key } = requests[index]!
          return admissionOf(id, key, parseReply(verdictReply, verdict), at)
        })
      }
      if (reply[0] === 'conflict') throw new IdConflictError(reply[1])
      if (reply[0] === 'no-limit') throw new NoLimitError(reply[1])
      if (reply[0] === 'shards') throw new ShardCountError(reply[1], this.#shards)
      if (reply[0] === 'old-book') await this.#rules.settle(shard, reply[1])
    }
    throw unsettled()
  }

  #ruleOf(key: string): Rule {
    const rule = this.#rules.book.find(key)
    if (rule === undefined) throw new NoLimitError(key)
    return rule
  }
}

function unsettled(): BackendUnavailableError {
  return new BackendUnavailableError(`the rule book was changed by others ${MOST_TRIES} times in a row`)
}
