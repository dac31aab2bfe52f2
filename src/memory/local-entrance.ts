import type { Clock } from '../core/clock.ts'
import type { Admission } from '../core/job.ts'
import { emitAdmission } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { JobRequest } from '../line/job.ts'
import { LocalLimits } from '../line/local-limits.ts'
import { admitUnderLocalLimits } from '../line/under-local-limits.ts'
import { dated } from './dated-request.ts'
import type { Scheduler } from './scheduler.ts'
import type { MemoryBackend } from './store/memory-backend.ts'

interface LocalEntrancePorts<Result> {
  readonly backend: MemoryBackend
  readonly scheduler: Pick<Scheduler, 'runOnce'>
  readonly clock: Clock
  readonly emitter: Emitter<Result>
  /** Something may have been admitted. */
  readonly onChange: () => void
}

/** Where requests come in to the lines of this process: past the ropes that are its own, then to the rope of the line. */
export class LocalEntrance<Result> {
  readonly ropes: LocalLimits
  readonly #ports: LocalEntrancePorts<Result>

  constructor(ports: LocalEntrancePorts<Result>) {
    const { backend, clock, emitter } = ports
    this.#ports = ports
    this.ropes = new LocalLimits({
      now: () => clock.now(),
      isGoverned: (key) => backend.rules.find(key) !== undefined,
      onChange: (change) => emitter.emit('localLimit', change),
    })
  }

  enqueue(request: JobRequest): Admission {
    if (this.ropes.isEmpty) return this.#enqueue(request)
    return this.#roped([request], ([only]) => [this.#enqueue(only!)])[0]!
  }

  enqueueMany(requests: readonly JobRequest[]): Admission[] {
    if (this.ropes.isEmpty) return this.#enqueueMany(requests)
    return this.#roped(requests, (some) => this.#enqueueMany(some))
  }

  forecast(key: string, cost: number): Admission {
    const { backend, clock } = this.#ports
    const refusal = this.ropes.refusal(key, cost)
    if (refusal !== undefined) return refusal
    const now = clock.now()
    const admission = backend.forecast(key, cost, now)
    return this.#madeRoom(admission, now) ? backend.forecast(key, cost, clock.now()) : admission
  }

  #roped(requests: readonly JobRequest[], admit: (some: readonly JobRequest[]) => Admission[]): Admission[] {
    const { backend, clock, emitter } = this.#ports
    return admitUnderLocalLimits(this.ropes, requests, {
      isKnown: (id) => backend.job(id, clock.now()) !== undefined,
      admit,
      tell: (request, refusal) => emitAdmission(emitter, request, refusal, clock.now()),
    })
  }

  #enqueue(read: JobRequest): Admission {
    const { backend, clock, onChange } = this.#ports
    let now = clock.now()
    const request = dated(read, now)
    let admission = backend.admit(request, now)
    if (this.#madeRoom(admission, now)) {
      now = clock.now()
      admission = backend.admit(request, now)
    }
    this.#tell(request, admission, now)
    onChange()
    return admission
  }

  #enqueueMany(read: readonly JobRequest[]): Admission[] {
    const { backend, scheduler, clock, emitter, onChange } = this.#ports
    const asked = clock.now()
    const requests = read.map((request) => dated(request, asked))
    // Whoever is due leaves first, so that their places are free for the newcomers.
    scheduler.runOnce()
    const now = clock.now()
    const admissions = backend.admitMany(requests, now)
    emitter.hold()
    for (const [index, admission] of admissions.entries()) this.#tell(requests[index]!, admission, now)
    emitter.release()
    onChange()
    return admissions
  }

  #tell(request: JobRequest, admission: Admission, now: number): void {
    const { backend, emitter } = this.#ports
    backend.insight.noteVerdict(request.key, request.id, admission, now)
    emitAdmission(emitter, request, admission, now)
  }

  /** After a refusal while somebody is due: lets him depart first, so that the same may be asked once more. */
  #madeRoom(admission: Admission, now: number): boolean {
    const { backend, scheduler } = this.#ports
    if (admission.accepted || backend.nextDeparture() > now) return false
    scheduler.runOnce()
    return true
  }
}
