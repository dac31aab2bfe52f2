import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import type { Admission } from '../core/job.ts'
import { emitAdmission } from '../line/emit.ts'
import type { Emitter } from '../line/emitter.ts'
import type { JobRequest } from '../line/job.ts'
import { LocalLimits } from '../line/local-limits.ts'
import { admitUnderLocalLimitsAsync } from '../line/under-local-limits.ts'
import type { RedisBackend } from './redis-backend.ts'
import type { NamedRequest, SharedAdmission } from './verbs/admit.ts'

/** How long after a start its news may reach Redis; whoever comes back when told finds the room that it made. */
export const NEWS_MS = 20

interface RedisProducerPorts<Result> {
  readonly backend: Pick<RedisBackend, 'verbs' | 'job' | 'rules'>
  readonly emitter: Emitter<Result>
}

/** Where requests of this process come in to a shared line, once it is open: under the local limits of this process. */
export class RedisProducer<Result> {
  /** Of this process, and so is their time. */
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

  async forecast(key: string, cost: number): Promise<Admission> {
    const refusal = this.localLimits.refusal(key, cost)
    return refusal ?? honest(await this.#ports.backend.verbs.forecast(key, cost))
  }

  #underLocalLimits(
    requests: readonly JobRequest[],
    admit: (some: readonly JobRequest[]) => Promise<Admission[]>,
  ): Promise<Admission[]> {
    const { backend, emitter } = this.#ports
    return admitUnderLocalLimitsAsync(this.localLimits, requests, {
      isKnown: async (id) => (await backend.job(id)) !== undefined,
      admit,
      onRefused: (request, refusal) => emitAdmission(emitter, request, refusal, systemClock.now()),
    })
  }

  async #enqueue(read: JobRequest): Promise<Admission> {
    const request = named(read)
    return this.#tell(request, await this.#ports.backend.verbs.admit(request))
  }

  async #enqueueMany(read: readonly JobRequest[]): Promise<Admission[]> {
    const requests = read.map(named)
    const admissions = await this.#ports.backend.verbs.admitMany(requests)
    return admissions.map((admission, index) => this.#tell(requests[index]!, admission))
  }

  #tell(request: JobRequest, { admission, at }: SharedAdmission): Admission {
    const told = honest(admission)
    emitAdmission(this.#ports.emitter, request, told, at)
    return told
  }
}

/** The name is made here, so that a request that is sent again is known again. */
function named(request: JobRequest): NamedRequest {
  return { ...request, id: request.id ?? randomBytes(12).toString('base64url') }
}

/** Room is made by a start, and its news travels a little. */
function honest(admission: Admission): Admission {
  if (admission.accepted || admission.reason !== 'full') return admission
  return { ...admission, retryAfterMs: admission.retryAfterMs + NEWS_MS }
}
