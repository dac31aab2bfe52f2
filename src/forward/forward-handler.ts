import { lookup } from 'node:dns/promises'
import { Agent, type Dispatcher } from 'undici'
import { wallClockMs } from '../core/clock.ts'
import { isVelvetRopeError } from '../core/errors.ts'
import { FinalError, FreezeError, LONGEST_FREEZE_MS } from '../core/handler-errors.ts'
import { firstSegment } from '../core/key.ts'
import { toError } from '../core/thrown.ts'
import type { ShapedJob } from '../line/shaped-job.ts'
import { type AnswerHeaders, type ForwardResult, headerOf, keptHeaders, nameOfRefusal } from './answer.ts'
import { cutTo, readBody, writeBody } from './answer-body.ts'
import { DeadlineError, withinDeadline } from './deadline.ts'
import { type CheckedRequest, readForwardRequest } from './forward-request.ts'
import { Freezes } from './freezes.ts'
import { guardedConnect, type Resolve } from './guarded-connect.ts'
import { alike, keyHeader } from './headers.ts'
import { type ForwardPlan, readPlan } from './plan.ts'
import { readStayAway } from './retry-after.ts'
import type { ForwardSettings } from './settings.ts'
import { needsBody, READ_FOR_AMOUNTS, settleBy } from './settling.ts'
import { signatureHeaders } from './signature.ts'
import { UnderWay } from './under-way.ts'
import { RequestFailedError, type StatusClass, statusClassOf, verdictOf } from './verdict.ts'

export interface ForwardPorts {
  /** Environment variables for `${NAME}`, read once. Default: those of the process. */
  readonly env?: Readonly<NodeJS.ProcessEnv>
  /** Resolves host names. Default: the resolver of the system. */
  readonly resolve?: Resolve
  /** The current time in milliseconds since the epoch. Default: the wall clock. */
  readonly now?: () => number
  /** The longest freeze in milliseconds, as in the options of the worker. Default: 366 days. */
  readonly maxFreezeMs?: number
  /** Called once per request that was sent, when its response begins or fails to arrive. */
  readonly onResponse?: (statusClass: StatusClass) => void
  /** Called the first time that answers of an origin leave the estimate in a unit, with the reason. */
  readonly onUnsettled?: (origin: string, unit: string, reason: string) => void
}

/** The part of a job that the forwarder needs. */
export type ForwardJob = Pick<ShapedJob, 'id' | 'key' | 'data' | 'attempt' | 'fence' | 'signal' | 'settle'>

/** A handler for `shaper.work`. */
export interface ForwardHandler {
  (job: ForwardJob): Promise<ForwardResult>
  /**
   * Waits for pending requests, then closes all connections; safe to call twice. Do not pass it a job afterwards: to
   * change settings, use a new handler and then close the old one.
   */
  close(): Promise<void>
}

/** How many bytes of an error response are read: enough to reuse the connection, and to find its code. */
const WORTH_READING = 16_384

/**
 * Creates a handler that sends each job as one HTTP request: the data of a job are `{ method, url, headers?, body?,
 * timeoutMs? }` (`ForwardRequest`), its result is a `ForwardResult`.
 *
 * It throws a FreezeError for 429, 503 and 529, a FinalError for failures that a retry cannot change, and a
 * RequestFailedError for the rest: other failures of the third party, the network, and timeouts.
 *
 * @throws InvalidOptionsError for invalid settings and for a missing variable
 */
export function createForwardHandler(settings: ForwardSettings, ports: ForwardPorts = {}): ForwardHandler {
  const {
    env = process.env,
    resolve = systemResolve,
    now = wallClockMs,
    maxFreezeMs = LONGEST_FREEZE_MS,
    onResponse,
    onUnsettled,
  } = ports
  const plan = readPlan(settings, env)
  const freezes = new Freezes(plan.freezeMs, maxFreezeMs)
  const agent = new Agent({ connect: guardedConnect(resolve, plan.privateHosts), pipelining: 1 })
  const underWay = new UnderWay()
  const maySettle = Object.keys(plan.settle).length > 0
  const readsForAmounts = needsBody(plan.settle)
  const unsettled = new Set<string>()

  const reportUnsettled = (origin: string, unit: string, reason: string) => {
    // Origins are those of `allow`, so that there are few. An API that does not say it never does.
    const name = `${unit} ${origin}`
    if (unsettled.has(name)) return
    unsettled.add(name)
    onUnsettled?.(origin, unit, reason)
  }

  const forward = async (job: ForwardJob): Promise<ForwardResult> => {
    job.signal.throwIfAborted()
    const request = readForwardRequest(job.data, plan)
    const where = `${request.method} ${request.url.origin}`
    let isReported = false
    const report = (status: number | undefined) => {
      if (isReported) return
      isReported = true
      onResponse?.(statusClassOf(status))
    }
    let refusal: FinalError | undefined
    try {
      const { result, read } = await withinDeadline(
        request.timeoutMs ?? plan.timeoutMs,
        job.signal,
        async (signal) => {
          const answer = await send(request, job, signal)
          const { statusCode: status, headers, body } = answer
          report(status)
          const verdict = verdictOf(status)
          if (verdict === 'done') return await keep(answer, job.key, request.origin)
          if (verdict === 'never') {
            const reason = status < 400 ? 'redirects are not followed' : 'not tried again'
            const refuse = (name = '') => new FinalError(`${where} answered ${status}${name}, ${reason}`)
            // Known already, however the body arrives.
            refusal = refuse()
            const { bytes } = await readBody(body, codingOf(headers), WORTH_READING, plan.secrets)
            throw refuse(nameOfRefusal(headers, bytes, plan.secrets))
          }
          void body.dump({ limit: WORTH_READING, signal: AbortSignal.timeout(1_000) }).catch(() => undefined)
          if (verdict === 'again') throw new RequestFailedError(`${where} answered ${status}`, { status })
          const asked = readStayAway((name) => headerOf(headers, name), now())
          throw new FreezeError({ forMs: freezes.next(job.key, asked, now()) })
        },
      )
      // The answer is there: the deadline of the request is over.
      if (read !== undefined) {
        await settleBy(plan.settle, read, job, (unit, reason) =>
          reportUnsettled(request.origin, unit, reason),
        )
      }
      return result
    } catch (thrown) {
      const isStopped = thrown === job.signal.reason
      if (isVelvetRopeError(thrown) && !isStopped) throw thrown
      report(undefined)
      if (isStopped) throw thrown
      throw refusal ?? new RequestFailedError(`${where} failed: ${causeOf(toError(thrown))}`)
    }
  }

  const send = (request: CheckedRequest, job: ForwardJob, signal: AbortSignal) => {
    const { method, url, body = null } = request
    return agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: headersOf(request, job, plan, now()),
      body,
      signal,
      // Only the deadline limits the time; undici's own timeouts would interfere.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  const keep = async (
    { statusCode: status, headers, body }: Dispatcher.ResponseData,
    key: string,
    origin: string,
  ) => {
    const isPart = status === 206 || headers['content-range'] !== undefined
    // A secret that is spread over several parts could not be found in any.
    const most = isPart && plan.secretOrigins.has(origin) ? 0 : plan.maxResponseBytes
    const enough = readsForAmounts && !isPart ? Math.max(most, READ_FOR_AMOUNTS) : most
    const read = await readBody(body, codingOf(headers), enough, plan.secrets)
    freezes.succeeded(key)
    const result: ForwardResult = {
      status,
      headers: keptHeaders(headers, plan.secrets),
      ...writeBody(cutTo(read, most)),
    }
    return { result, read: maySettle && !isPart ? { ...read, headers } : undefined }
  }

  const close = async () => {
    await underWay.ended()
    await agent.destroy()
  }
  return Object.assign((job: ForwardJob) => underWay.add(forward(job)), { close })
}

/** Several codings at once are not supported. */
function codingOf(headers: AnswerHeaders): string | undefined {
  const coding = headers['content-encoding']
  return Array.isArray(coding) ? coding.join() : coding
}

/**
 * The headers of the job, then those of the configuration, then those of the forwarder; later ones override earlier
 * ones.
 */
function headersOf(
  { headers, origin, body }: CheckedRequest,
  { id, key, attempt, fence }: ForwardJob,
  plan: ForwardPlan,
  now: number,
): Record<string, string> {
  const configured = [...(plan.headers.get(origin) ?? [])]
  const ours = new Set(configured.map(([name]) => alike(name)))
  // An id is of the first segment of a key. Tenants may share the credentials for an origin, which must not take two jobs for one.
  const sentId = `${keyHeader(firstSegment(key))}:${id}`
  return {
    'user-agent': 'velvet-rope',
    // A name that only looks like one of the configuration would be a second value of it to some servers.
    ...Object.fromEntries([...headers].filter(([name]) => !ours.has(alike(name)))),
    ...Object.fromEntries(configured),
    'accept-encoding': 'identity',
    'idempotency-key': sentId,
    'shaper-attempt': String(attempt),
    'shaper-fence': String(fence),
    'shaper-key': keyHeader(key),
    ...(plan.signingKey !== undefined && signatureHeaders(plan.signingKey, sentId, now, body ?? '')),
  }
}

/** The code of an error rather than its message, which may contain what was sent. */
function causeOf(error: Error): string {
  if (error instanceof DeadlineError) return error.message
  const code = 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : error.name
}

async function systemResolve(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}
