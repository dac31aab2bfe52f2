import { randomBytes } from 'node:crypto'
import { ForeignValueError } from '../../core/errors.ts'
import type {
  Claim,
  ClaimRequest,
  FetchAnswer,
  FinishAnswer,
  FinishReport,
  GateAnswer,
  GateReply,
  GateRequest,
  HandedJob,
  Recovered,
  SharedJob,
  SharedOutcome,
  StartReport,
} from '../protocol/shared-backend.ts'
import * as replies from '../scripts/replies.ts'
import { defineScript, parseReply } from '../scripts/script.ts'
import { decodeSettings } from '../scripts/settings-text.ts'
import type { Store } from '../scripts/store.ts'

const claimScript = defineScript('claim', import.meta.url, replies.claimReply)
const resignScript = defineScript('resign', import.meta.url, replies.flagReply)
const gateScript = defineScript('gate', import.meta.url, replies.gateReply)
const fetchScript = defineScript('fetch', import.meta.url, replies.fetchReply)
const finishScript = defineScript('finish', import.meta.url, replies.finishReply)
const handedScript = defineScript('handed', import.meta.url, replies.flagsReply)
const startScript = defineScript('start', import.meta.url, replies.flagsReply)
const renewScript = defineScript('renew', import.meta.url, replies.flagsReply)
const SWEEPS = {
  expire: defineScript('expire', import.meta.url, replies.sweepReply),
  recover: defineScript('recover', import.meta.url, replies.sweepReply),
}

type Values = (string | number)[]
type Sweep = 'expire' | 'recover'

export interface LineVerbsPorts {
  /** Told which version of the rule book a shard has, and to which all its buckets are held. */
  onBook(shard: number, version: number, retimed: number): void
  /** By which name this process knows a shard: one that lost all that it held gets another. */
  nameOf?(shard: number): string | undefined
}

/** What schedulers and workers do. They try again by themselves: every verb may be run twice. */
export class LineVerbs {
  readonly #store: Store
  readonly #keepFinished: number
  readonly #ports: LineVerbsPorts
  /** Names this process where it asks for a sweep; and by verb and shard, the sweeps whose answers did not arrive. */
  readonly #name = randomBytes(12).toString('base64url')
  readonly #unanswered = new Map<string, number>()
  #sweeps = 0

  constructor(store: Store, keepFinished: number, ports: LineVerbsPorts) {
    this.#store = store
    this.#keepFinished = keepFinished
    this.#ports = ports
  }

  async claim(shard: number, request: ClaimRequest, now?: number): Promise<Claim> {
    const { scheduler, lookAhead, most, lease } = request
    const known = this.#ports.nameOf?.(shard) ?? ''
    const values = [now ?? '', scheduler, lookAhead, most, lease, this.#keepFinished, known]
    const reply = await this.#store.run(claimScript, shard, values)
    const nothing = { jobs: [], nextClaim: Infinity, nextRecovery: Infinity, nextExpiry: Infinity }
    const soon = (verb: Sweep, next: number) => (this.#unanswered.has(nameOf(verb, shard)) ? reply[1] : next)
    if (reply[0] === 'follow') {
      const [, at, leaderUntil] = reply
      const [nextRecovery, nextExpiry] = [soon('recover', Infinity), soon('expire', Infinity)]
      return { ...nothing, isElected: false, now: at, leaderUntil, nextRecovery, nextExpiry }
    }
    const [, at, nextDue, nextRecovery, nextExpiry, nextIdle, book, retimed, ...texts] = reply
    this.#ports.onBook(shard, book, retimed)
    return {
      isElected: true,
      leaderUntil: at,
      now: at,
      jobs: replies
        .inGroups(texts, 3)
        .map(([id, epoch, key]) => ({ id: String(id), epoch: Number(epoch), key: String(key) })),
      nextClaim: Math.min(nextDue - lookAhead, nextIdle + LATENESS_OF_CHORES),
      nextRecovery: soon('recover', nextRecovery),
      nextExpiry: soon('expire', nextExpiry),
    }
  }

  async resign(shard: number, scheduler: string): Promise<void> {
    await this.#store.run(resignScript, shard, [scheduler])
  }

  /** Like `expire`, it tells of each job once. */
  async recover(shard: number, now?: number): Promise<Recovered[]> {
    const [at, ...texts] = await this.#sweep('recover', shard, now)
    return replies.inGroups(texts, 6).map(([id, epoch, key, cost, attempt, fate]) => ({
      id: String(id),
      epoch: Number(epoch),
      key: String(key),
      cost: Number(cost),
      attempt: Number(attempt),
      at,
      crashed: fate === 'crashed' || fate === 'failed',
      failed: fate === 'failed',
      gone: fate === 'gone',
    }))
  }

  /** Where it fails, the next call answers what this one may have done: each job that expired is told once. */
  async expire(shard: number, now?: number): Promise<SharedJob[]> {
    const [at, ...texts] = await this.#sweep('expire', shard, now)
    return replies.inGroups(texts, 4).map(([id, key, cost, attempt]) => ({
      id: String(id),
      key: String(key),
      cost: Number(cost),
      attempt: Number(attempt),
      at,
    }))
  }

  async gate(shard: number, requests: readonly GateRequest[], now?: number): Promise<GateReply> {
    const values = requests.flatMap(({ id, epoch, worker, lead, lease, missed, hasData }) => [
      id,
      epoch,
      worker,
      lead,
      lease,
      missed ?? '',
      hasData ? '1' : '0',
    ])
    const reply = await this.#store.run(gateScript, shard, [
      now ?? '',
      this.#keepFinished,
      this.#ports.nameOf?.(shard) ?? '',
      requests.length,
      ...values,
    ])
    const [at, version, ...answers] = reply
    this.#ports.onBook(shard, version, version)
    return { now: at, answers: answers.map((answer, index) => gateAnswer(requests[index]!.id, answer, at)) }
  }

  async fetch(shard: number, jobs: readonly HandedJob[]): Promise<FetchAnswer[]> {
    const values = [jobs.length, ...jobs.flatMap(({ id, epoch }) => [id, epoch])]
    const texts = await this.#store.run(fetchScript, shard, values)
    return replies.inGroups(texts, 2).map((pair) => {
      const [kind, data] = parseReply(replies.fetchedReply, pair)
      return kind === 'yes' ? { kind, data } : { kind }
    })
  }

  /** Whether each is still handed over under its epoch, whatever came of it since. */
  handed(shard: number, jobs: readonly HandedJob[]): Promise<boolean[]> {
    return this.#store.run(handedScript, shard, [
      jobs.length,
      ...jobs.flatMap(({ id, epoch }) => [id, epoch]),
    ])
  }

  async start(shard: number, starts: readonly StartReport[], now?: number): Promise<boolean[]> {
    const values = starts.flatMap(({ id, epoch, startedAt }) => [id, epoch, startedAt])
    return this.#store.run(startScript, shard, [now ?? '', starts.length, ...values])
  }

  async finish(shard: number, reports: readonly FinishReport[], now?: number): Promise<FinishAnswer[]> {
    const values = reports.flatMap(({ id, epoch, startedAt, outcome }) => [
      id,
      epoch,
      startedAt ?? '',
      ...outcomeValues(outcome),
    ])
    const reply = await this.#store.run(finishScript, shard, [
      now ?? '',
      this.#keepFinished,
      reports.length,
      ...values,
    ])
    const [at, ...answers] = reply
    return answers.map((answer) =>
      typeof answer === 'number' ? { isMine: true, at, readyAt: answer } : { isMine: answer, at },
    )
  }

  async renew(shard: number, jobs: readonly HandedJob[], lease: number, now?: number): Promise<boolean[]> {
    const values = jobs.flatMap(({ id, epoch }) => [id, epoch])
    return this.#store.run(renewScript, shard, [now ?? '', lease, jobs.length, ...values])
  }

  async #sweep(verb: Sweep, shard: number, now: number | undefined) {
    const name = nameOf(verb, shard)
    const sweep = this.#unanswered.get(name) ?? ++this.#sweeps
    this.#unanswered.set(name, sweep)
    const values = [now ?? '', this.#keepFinished, `${this.#name}:${verb}`, sweep]
    const reply = await this.#store.run(SWEEPS[verb], shard, values)
    this.#unanswered.delete(name)
    return reply
  }
}

/** Buckets to forget wait for each other: nobody misses them. */
const LATENESS_OF_CHORES = 500_000

function nameOf(verb: Sweep, shard: number): string {
  return `${verb} ${shard}`
}

function outcomeValues(outcome: SharedOutcome): Values {
  switch (outcome.kind) {
    case 'completed':
      return ['completed', outcome.result ?? '', outcome.result === undefined ? '0' : '1', '']
    case 'failed':
      return ['failed', outcome.error, '1', '']
    case 'retry':
      return ['retry', outcome.error, '1', outcome.delay]
    case 'freeze':
      return ['freeze', '', '0', outcome.duration]
    case 'back':
      return ['back', outcome.worker, '1', '']
  }
}

function gateAnswer(id: string, answer: replies.GateAnswerReply, at: number): GateAnswer {
  switch (answer[0]) {
    case 'granted': {
      const [, slot, startAt, latest, tolerance, key, cost, settings, data, admittedAt, attempt, fence] =
        answer
      const traceparent = answer[12] === '' ? undefined : answer[12]
      const known = { id, key, data, cost, settings: decodeSettings(settings), traceparent }
      const job = { ...known, attempt, fence, crashes: answer[16], admittedAt }
      const pace = { pattern: answer[13], lastStart: answer[14], spacing: answer[15] }
      return { kind: 'granted', slot, due: answer[17], startAt, latest, tolerance, pace, job }
    }
    case 'data':
      return { kind: 'data', bytes: answer[1] }
    case 'wait':
      return { kind: 'wait', until: answer[1] }
    case 'expired':
      return { kind: 'expired', job: { id, key: answer[1], cost: answer[2], attempt: answer[3], at } }
    case 'returned':
    case 'stale':
    case 'foreign':
      return { kind: answer[0] }
    default:
      throw new ForeignValueError('Redis answered what no gate of ours does')
  }
}
