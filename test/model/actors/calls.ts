import { noteActivity } from '../store/lease.ts'
import { admit, type Verdict } from '../store/verbs/admit.ts'
import { claim } from '../store/verbs/claim.ts'
import type { FinishCall } from '../store/verbs/finish.ts'
import { finish } from '../store/verbs/finish.ts'
import { type GateAnswer, type GateCall, gate } from '../store/verbs/gate.ts'
import { cancel, changeRule, freeze, hold, quarantine, resign, unfreeze } from '../store/verbs/hold.ts'
import { expire, type Recovered, recover } from '../store/verbs/recover.ts'
import { type SettleCall, settle } from '../store/verbs/settle.ts'
import { renew, start } from '../store/verbs/start.ts'
import { fenceFor, stampFor } from './stamps.ts'
import type { World } from './world.ts'

/** One call of a verb for one job, or by one scheduler, and what the model answered. */
export type CallOfOne =
  | { readonly verb: 'admit'; readonly job: number; readonly answer: Verdict }
  | { readonly verb: 'claim'; readonly scheduler: number; readonly answer: readonly number[] | undefined }
  | ({ readonly verb: 'gate'; readonly answer: GateAnswer } & Omit<GateCall, 'fence'>)
  | {
      readonly verb: 'start'
      readonly job: number
      readonly epoch: number
      readonly startedAt: number
      readonly answer: boolean
    }
  | ({ readonly verb: 'finish'; readonly answer: boolean } & FinishCall)

/** One call of a verb, and what the model answered: what a walk repeats on the real store. */
export type Call =
  | CallOfOne
  | {
      readonly verb: 'renew'
      readonly jobs: readonly { readonly job: number; readonly epoch: number }[]
      readonly answer: readonly boolean[]
    }
  | ({ readonly verb: 'settle'; readonly answer: boolean } & SettleCall)
  | { readonly verb: 'recover'; readonly answer: readonly Recovered[] }
  | { readonly verb: 'expire'; readonly answer: readonly number[] }
  | { readonly verb: 'cancel'; readonly job: number; readonly answer: boolean }
  | { readonly verb: 'freeze'; readonly duration: number }
  | { readonly verb: 'unfreeze'; readonly answer: boolean }
  | { readonly verb: 'pause' | 'resume' }
  | { readonly verb: 'changeRule'; readonly limit: number }
  | {
      readonly verb: 'quarantine'
      readonly reason: 'jump' | 'loss' | 'step'
      readonly by: number
      readonly reporter: number
    }
  | { readonly verb: 'resign'; readonly scheduler: number }

/** The verbs of the store, as the processes of a world call them. */
export class Calls {
  readonly #world: World
  onCall: ((call: Call) => void) | undefined

  constructor(world: World) {
    this.#world = world
  }

  #noted<Answer>(call: Readonly<Record<string, unknown>>, answer: Answer): Answer {
    this.onCall?.({ ...call, answer } as unknown as Call)
    return answer
  }

  admit(job: number, known?: Verdict): Verdict {
    return this.#noted({ verb: 'admit', job } as const, admit(this.#world.shard, job, known))
  }

  claim(scheduler: number): readonly number[] | undefined {
    const stamp = (job: number) => stampFor(this.#world, job)
    return this.#noted({ verb: 'claim', scheduler } as const, claim(this.#world.shard, { scheduler, stamp }))
  }

  gate(call: Omit<GateCall, 'fence'>): GateAnswer {
    const fence = () => fenceFor(this.#world)
    return this.#noted({ verb: 'gate', ...call } as const, gate(this.#world.shard, { ...call, fence }))
  }

  start(job: number, epoch: number, startedAt: number): boolean {
    const answer = start(this.#world.shard, job, epoch, startedAt)
    return this.#noted({ verb: 'start', job, epoch, startedAt } as const, answer)
  }

  finish(call: FinishCall): boolean {
    return this.#noted({ verb: 'finish', ...call } as const, finish(this.#world.shard, call))
  }

  renew(jobs: readonly { readonly job: number; readonly epoch: number }[]): boolean[] {
    noteActivity(this.#world.shard)
    const answers = jobs.map(({ job, epoch }) => renew(this.#world.shard, job, epoch))
    return this.#noted({ verb: 'renew', jobs } as const, answers)
  }

  settle(call: SettleCall): boolean {
    return this.#noted({ verb: 'settle', ...call } as const, settle(this.#world.shard, call))
  }

  recover(): Recovered[] {
    return this.#noted({ verb: 'recover' } as const, recover(this.#world.shard))
  }

  expire(): number[] {
    return this.#noted({ verb: 'expire' } as const, expire(this.#world.shard))
  }

  cancel(job: number): boolean {
    return this.#noted({ verb: 'cancel', job } as const, cancel(this.#world.shard, job))
  }

  freeze(duration: number): void {
    this.#noted({ verb: 'freeze', duration } as const, freeze(this.#world.shard, duration))
  }

  unfreeze(): boolean {
    return this.#noted({ verb: 'unfreeze' } as const, unfreeze(this.#world.shard))
  }

  hold(verb: 'pause' | 'resume'): void {
    this.#noted({ verb } as const, hold(this.#world.shard, verb))
  }

  changeRule(): void {
    this.#noted(
      { verb: 'changeRule', limit: this.#world.shard.meta.book + 1 } as const,
      changeRule(this.#world.shard),
    )
  }

  quarantine(reason: 'jump' | 'loss' | 'step', by: number, reporter: number): void {
    const answer = quarantine(this.#world.shard, reason, by, reporter)
    this.#noted({ verb: 'quarantine', reason, by, reporter } as const, answer)
  }

  resign(scheduler: number): void {
    this.#noted({ verb: 'resign', scheduler } as const, resign(this.#world.shard, scheduler))
  }
}
