import type { Clock } from '../core/clock.ts'
import type { Admission } from '../core/job.ts'
import type { Costs } from '../core/usage.ts'
import { emitAdmission } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { JobRequest } from '../line/job.ts'
import { LocalLimits } from '../line/local-limits.ts'
import { admitUnderLocalLimits } from '../line/under-local-limits.ts'
import type { MemoryScheduler } from './memory-scheduler.ts'
import type { MemoryStore } from './store/memory-store.ts'

interface ProducerPorts<Result> {
  readonly store: MemoryStore
  readonly scheduler: Pick<MemoryScheduler, 'runOnce'>
  readonly clock: Clock
  readonly emitter: Emitter<Result>
  /** Something may have been admitted. */
  onChange(): void
}

/** Admits requests to the lines of this process: first the local limits judge them, then the line. */
export class MemoryProducer<Result> {
  readonly localLimits: LocalLimits
  readonly #ports: ProducerPorts<Result>

  constructor(ports: ProducerPorts<Result>) {
    const { store, clock, emitter } = ports
    const { use } = store
    this.#ports = ports
    this.localLimits = new LocalLimits({
      now: () => clock.now(),
      isGoverned: (key) => store.rules.find(key) !== undefined,
      onChange: (change) => emitter.emit('localLimit', change),
      use,
    })
  }

  enqueue(request: JobRequest): Admission {
    if (this.localLimits.isEmpty) return this.#enqueue(request)
    return this.#underLocalLimits([request], ([only]) => [this.#enqueue(only!)])[0]!
  }

  enqueueMany(requests: readonly JobRequest[]): Admission[] {
    if (this.localLimits.isEmpty) return this.#enqueueMany(requests)
    return this.#underLocalLimits(requests, (some) => this.#enqueueMany(some))
  }

  forecast(key: string, cost: number, costs?: Costs): Admission {
    const { store, clock } = this.#ports
    const refusal = this.localLimits.refusal(key, cost)
    if (refusal !== undefined) return refusal
    const now = clock.now()
    const admission = store.forecast(key, cost, now, costs)
    return this.#madeRoom(admission, now) ? store.forecast(key, cost, clock.now(), costs) : admission
  }

  #underLocalLimits(
    requests: readonly JobRequest[],
    admit: (some: readonly JobRequest[]) => Admission[],
  ): Admission[] {
    const { store, clock, emitter } = this.#ports
    return admitUnderLocalLimits(this.localLimits, requests, {
      isKnown: (id, key) => store.has(id, key),
      admit,
      onRefused: (request, refusal) => emitAdmission(emitter, request, refusal, clock.now()),
    })
  }

  #enqueue(read: JobRequest): Admission {
    const { store, clock, onChange } = this.#ports
    let now = clock.now()
    const request = withDeadline(read, now)
    let admission = store.admit(request, now)
    if (this.#madeRoom(admission, now)) {
      now = clock.now()
      admission = store.admit(request, now)
    }
    this.#emit(request, admission, now)
    onChange()
    return admission
  }

  #enqueueMany(read: readonly JobRequest[]): Admission[] {
    const { store, scheduler, clock, emitter, onChange } = this.#ports
    const asked = clock.now()
    const requests = read.map((request) => withDeadline(request, asked))
    // Jobs that are due depart first, so that their places are free.
    scheduler.runOnce()
    const now = clock.now()
    const admissions = store.admitMany(requests, now)
    emitter.hold()
    for (const [index, admission] of admissions.entries()) this.#emit(requests[index]!, admission, now)
    emitter.release()
    onChange()
    return admissions
  }

  #emit(request: JobRequest, admission: Admission, now: number): void {
    const { store, emitter } = this.#ports
    store.noteVerdict(request.key, request.id, admission, now)
    emitAdmission(emitter, request, admission, now)
  }

  /** After a refusal while a job is due: lets that job depart, so that the same request may be judged once more. */
  #madeRoom(admission: Admission, now: number): boolean {
    const { store, scheduler } = this.#ports
    if (admission.accepted || store.nextDeparture() > now) return false
    scheduler.runOnce()
    return true
  }
}

/** The request with an instant for its deadline; one without a deadline stays the same object. */
function withDeadline(request: JobRequest, now: number): JobRequest {
  const { deadline } = request
  return deadline === Number.POSITIVE_INFINITY ? request : { ...request, deadline: now + deadline }
}
