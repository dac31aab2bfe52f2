import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import type { Admission } from '../core/job.ts'
import type { Costs } from '../core/usage.ts'
import { emitAdmission } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { JobRequest } from '../line/job.ts'
import { LocalLimits } from '../line/local-limits.ts'
import { admitUnderLocalLimitsAsync } from '../line/under-local-limits.ts'
import type { RedisBackend } from './redis-backend.ts'
import type { TimedAdmission } from './verbs/admit.ts'
import type { NamedRequest } from './verbs/admit-calls.ts'
import { readJob } from './views/job.ts'

/** How long after a start its report may reach Redis. It is added to reported times, so that there is room by then. */
export const REPORT_MS = 20

interface RedisProducerPorts<Result> {
  readonly backend: Pick<RedisBackend, 'verbs' | 'store' | 'rules'>
  readonly emitter: Emitter<Result>
}

/** Brings requests of this process to an open line, through the limits of this process first. */
export class RedisProducer<Result> {
  /** The limits of this process, which follow its clock. */
  readonly localLimits: LocalLimits
  readonly #ports: RedisProducerPorts<Result>

  constructor(ports: RedisProducerPorts<Result>) {
    const { backend, emitter } = ports
    this.#ports = ports
    this.localLimits = new LocalLimits({
      now: () => systemClock.now(),
      isGoverned: (key) => backend.rules.book.find(key) !== undefined,
      onChange: (change) => emitter.emit('localLimit', change),
    })
  }

  enqueue(request: JobRequest): Promise<Admission> {
    if (this.localLimits.isEmpty) return this.#enqueue(request)
    const admit = async ([only]: readonly JobRequest[]) => [await this.#enqueue(only!)]
    return this.#underLocalLimits([request], admit).then(([admission]) => admission!)
  }

  enqueueMany(requests: readonly JobRequest[]): Promise<Admission[]> {
    if (this.localLimits.isEmpty) return this.#enqueueMany(requests)
    return this.#underLocalLimits(requests, (some) => this.#enqueueMany(some))
  }

  async forecast(key: string, cost: number, costs?: Costs): Promise<Admission> {
    const refusal = this.localLimits.refusal(key, cost)
    return refusal ?? withReportTime(await this.#ports.backend.verbs.forecast(key, cost, undefined, costs))
  }

  #underLocalLimits(
    requests: readonly JobRequest[],
    admit: (some: readonly JobRequest[]) => Promise<Admission[]>,
  ): Promise<Admission[]> {
    const { backend, emitter } = this.#ports
    return admitUnderLocalLimitsAsync(this.localLimits, requests, {
      isKnown: async (id, key) => (await readJob(backend.store, id, undefined, key)) !== undefined,
      admit,
      onRefused: (request, refusal) => emitAdmission(emitter, request, refusal, systemClock.now()),
    })
  }

  async #enqueue(read: JobRequest): Promise<Admission> {
    const request = named(read)
    return this.#emit(request, await this.#ports.backend.verbs.admit(request))
  }

  async #enqueueMany(read: readonly JobRequest[]): Promise<Admission[]> {
    const requests = read.map(named)
    const admissions = await this.#ports.backend.verbs.admitMany(requests)
    return admissions.map((admission, index) => this.#emit(requests[index]!, admission))
  }

  #emit(request: JobRequest, { admission, at }: TimedAdmission): Admission {
    const reported = withReportTime(admission)
    emitAdmission(this.#ports.emitter, request, reported, at)
    return reported
  }
}

/** Names the request before it is sent, so that Redis recognizes it when it is sent again. */
function named(request: JobRequest): NamedRequest {
  return { ...request, id: request.id ?? randomBytes(12).toString('base64url') }
}

/** A start makes room, and its report takes a while to reach Redis. */
function withReportTime(admission: Admission): Admission {
  if (admission.accepted || admission.reason !== 'full') return admission
  return { ...admission, retryAfterMs: admission.retryAfterMs + REPORT_MS }
}
