import type { CallOfOne } from '../../actors/calls.ts'
import type { Verdict } from '../../store/verbs/admit.ts'
import type { FinishCall } from '../../store/verbs/finish.ts'
import type { GateAnswer, GateCall } from '../../store/verbs/gate.ts'
import type { Fate } from '../../store/verbs/recover.ts'
import * as verbs from '../store/verbs.ts'
import { watchTags } from '../tags.ts'
import type { FamilyWorld } from './world.ts'

/** Jobs are named by their numbers in the setup. */
export type FamilyCall =
  | CallOfOne
  | { readonly verb: 'renew'; readonly job: number; readonly epoch: number; readonly answer: boolean }
  | { readonly verb: 'recover'; readonly answer: readonly LostJob[] }
  | { readonly verb: 'freeze'; readonly held: number; readonly duration: number }
  | { readonly verb: 'unfreeze'; readonly held: number; readonly answer: boolean }
  | { readonly verb: 'pause' | 'resume' | 'changeLimit'; readonly held: number }

export interface LostJob {
  readonly job: number
  readonly epoch: number
  readonly fate: Fate
}

/** The verbs of the store, as the processes of a world call them; what they do to tags is judged. */
export class FamilyCalls {
  readonly #world: FamilyWorld
  onCall: ((call: FamilyCall) => void) | undefined

  constructor(world: FamilyWorld) {
    this.#world = world
  }

  #made<Answer>(call: Readonly<Record<string, unknown>>, verb: () => Answer): Answer {
    const judge = watchTags(this.#world)
    const answer = verb()
    judge()
    this.onCall?.({ ...call, answer } as unknown as FamilyCall)
    return answer
  }

  admit(job: number): Verdict {
    const { bucket, index } = this.#world.known(job)
    return this.#made({ verb: 'admit', job }, () => verbs.admit(this.#world.family, bucket, index))
  }

  claim(scheduler: number): readonly number[] | undefined {
    const world = this.#world
    const stamp = (bucket: number) => (index: number) =>
      this.#epochAfter(world.family.numberOf(bucket, index))
    return this.#made({ verb: 'claim', scheduler }, () =>
      verbs
        .claim(world.family, scheduler, stamp)
        ?.map(({ bucket, job }) => world.family.numberOf(bucket, job)),
    )
  }

  /** Larger than any that something still names: see actors/stamps.ts. */
  #epochAfter(job: number): number {
    const named = this.#world.references.filter((reference) => reference.job === job + 1)
    return Math.max(this.#world.record(job).epoch, ...named.map(({ epoch }) => epoch)) + 1
  }

  gate(call: Omit<GateCall, 'fence'>): GateAnswer {
    const { bucket, index, shard } = this.#world.known(call.job)
    const fence = () => Math.max(...shard.jobs.map((job) => job.fence)) + 1
    return this.#made({ verb: 'gate', ...call }, () =>
      verbs.gate(this.#world.family, bucket, { ...call, job: index, fence }),
    )
  }

  start(job: number, epoch: number, startedAt: number): boolean {
    const { bucket, index } = this.#world.known(job)
    return this.#made({ verb: 'start', job, epoch, startedAt }, () =>
      verbs.start(this.#world.family, bucket, index, epoch, startedAt),
    )
  }

  finish(call: FinishCall): boolean {
    const { bucket, index } = this.#world.known(call.job)
    return this.#made({ verb: 'finish', ...call }, () =>
      verbs.finish(this.#world.family, bucket, { ...call, job: index }),
    )
  }

  renew(job: number, epoch: number): boolean {
    const { bucket, index } = this.#world.known(job)
    return this.#made({ verb: 'renew', job, epoch }, () =>
      verbs.renew(this.#world.family, bucket, index, epoch),
    )
  }

  /** @param held a bucket, by its place in the setup, or behind those a total */
  freeze(held: number, duration: number): void {
    this.#made({ verb: 'freeze', held, duration }, () => verbs.freeze(this.#world.family, held, duration))
  }

  unfreeze(held: number): boolean {
    return this.#made({ verb: 'unfreeze', held }, () => verbs.unfreeze(this.#world.family, held))
  }

  hold(verb: 'pause' | 'resume', held: number): void {
    this.#made({ verb, held }, () => verbs.pause(this.#world.family, held, verb))
  }

  changeLimit(held: number): void {
    this.#made({ verb: 'changeLimit', held }, () => verbs.changeLimit(this.#world.family, held))
  }

  recover(): readonly LostJob[] {
    const world = this.#world
    return this.#made({ verb: 'recover' }, () =>
      verbs.recover(world.family).map(({ shard, job, epoch, fate }) => {
        return { job: world.family.numberOf(world.family.shards.indexOf(shard), job), epoch, fate }
      }),
    )
  }
}
