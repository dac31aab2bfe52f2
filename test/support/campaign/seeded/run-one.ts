import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobView } from '../../../../src/index.ts'
import type { ClockShim } from '../clock-shim.ts'
import { endOf } from '../end-of.ts'
import { readRecords } from '../history-file.ts'
import { hostNow } from '../host-time.ts'
import { recordsIn } from '../judge.ts'
import { noteAdmission } from '../record-turns.ts'
import { carryOut } from './carry-out.ts'
import { Field } from './field.ts'
import { judgeRun, type RunCounts } from './judge-run.ts'
import { leakedDeliveries, recountAll } from './leftovers.ts'
import type { Fault, SeededPlan } from './plan.ts'

/** How long a run may take to come to rest, many times as long as it should; milliseconds. */
const REST_MS = 600_000

export interface RunResult {
  readonly counts: RunCounts
  readonly durationMs: number
  /** What was done to it met no job, so that it shows nothing. */
  readonly isIdle: boolean
  /** Times that fit two moments decide whether a law was broken. */
  readonly isUndecided?: boolean
  /** What is wrong, as text; undefined when all is well. */
  readonly failure?: string
  /** Where the records of a failed run are. */
  readonly folder?: string
}

/** How long a run may take in all; milliseconds. */
const LONGEST_MS = 2 * REST_MS

/** One run, which is red where it does not end. */
export async function runOne(plan: SeededPlan, shim: ClockShim | undefined): Promise<RunResult> {
  const over = new AbortController()
  const late = sleep(LONGEST_MS, undefined, { signal: over.signal }).then(
    (): RunResult => ({
      counts: {},
      isIdle: false,
      durationMs: LONGEST_MS,
      failure: `the run has not ended within ${LONGEST_MS} ms`,
    }),
  )
  try {
    return await Promise.race([run(plan, shim), late])
  } finally {
    late.catch(() => undefined)
    over.abort()
  }
}

/** Starts the processes, disturbs them as planned, waits until they are done, and judges what they wrote down. */
async function run(plan: SeededPlan, shim: ClockShim | undefined): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), `velvet-rope-seed-${plan.seed}-`))
  const began = hostNow()
  const took = () => (hostNow() - began) / 1_000
  let field: Field | undefined
  try {
    field = await Field.open(plan, folder, shim)
    await disturb(field)
    const unrest = await rest(field)
    const judged = await conclude(field, unrest)
    if (judged.failure === undefined && !judged.isUndecided) rmSync(folder, { recursive: true })
    else return { ...judged, durationMs: took(), folder }
    return { ...judged, durationMs: took() }
  } catch (error) {
    return {
      counts: {},
      isIdle: false,
      durationMs: took(),
      failure: error instanceof Error ? `${error.stack}` : `${error}`,
      folder,
    }
  } finally {
    await field?.close()
  }
}

async function disturb(field: Field): Promise<void> {
  const began = hostNow()
  const at = async (fault: Fault) => {
    await sleep(Math.max(0, fault.atMs - (hostNow() - began) / 1_000))
    await carryOut(field, fault)
  }
  await Promise.all(field.plan.faults.map(at))
}

/** Resolves when every producer that lives is done and every admitted job has ended; else with what is missing. */
async function rest(field: Field): Promise<string | undefined> {
  const until = hostNow() + REST_MS * 1_000
  const left = () => Math.max(1, Math.ceil((until - hostNow()) / 1_000))
  for (const { child } of field.players.producer) {
    const why = await child.said('done', { withinMs: left() }).then(
      () => undefined,
      (error: unknown) => `${error}`,
    )
    // One that was killed does not come to its end.
    if (why !== undefined && !child.hasDied) return why
  }
  for (;;) {
    const audit = await field.audit().catch(() => undefined)
    if (audit !== undefined && audit.ended === audit.admitted) return undefined
    if (hostNow() > until) return `expected every admitted job to have ended, got: ${JSON.stringify(audit)}`
    await sleep(100)
  }
}

async function conclude(
  field: Field,
  unrest: string | undefined,
): Promise<Pick<RunResult, 'counts' | 'isIdle' | 'isUndecided' | 'failure'>> {
  const failures =
    unrest === undefined ? [] : [`the run has not come to rest within ${REST_MS} ms: ${unrest}`]
  try {
    await askForTheRest(field)
    field.file.write({
      kind: 'event',
      clock: 'host',
      event: { type: 'audit', at: hostNow(), ...(await field.audit()) },
    })
  } catch (error) {
    failures.push(`the line could not be asked: ${error}`)
  }
  // Workers clean up after those that died: as long as they live, and the line is at rest.
  if (unrest === undefined) failures.push(...(await leakedDeliveries(field.place)))
  const states = unrest === undefined ? [] : field.everyone.map(({ child }) => child.state)
  const complaints = await field.closeAll()
  failures.push(...complaints.map((complaint) => `a process did not end well: ${complaint}`), ...states)
  if (unrest === undefined) failures.push(...(await recountAll(field.place)))
  const { breaches, isIdle, isUndecided, ...judged } = judgeRun(field.plan, field.folder)
  const counts = { ...judged.counts, ...field.figures }
  failures.push(...breaches)
  const shown = { counts, isIdle, isUndecided }
  return failures.length === 0 ? shown : { ...shown, failure: failures.join('\n') }
}

/** A process that died could not write down all that it knew; the store is asked for what no other wrote. */
async function askForTheRest({ folder, operator, file }: Field): Promise<void> {
  const asked = new Set<string>()
  const accepted = new Set<string>()
  const ended = new Set<string>()
  for (const record of recordsIn(folder).flatMap(readRecords)) {
    if (record.kind === 'asked') for (const { id } of record.asked) asked.add(id)
    if (record.kind !== 'event') continue
    if (record.event.type === 'answer' && record.event.accepted) accepted.add(record.event.id)
    if (record.event.type === 'end') ended.add(record.event.id)
  }
  for (const id of asked) {
    if (accepted.has(id) && ended.has(id)) continue
    const job = await operator.ask<JobView | undefined>({ do: 'job', id })
    if (job === undefined) continue
    noteAdmission(job, file)
    const end = endOf(job)
    if (end !== undefined) file.write({ kind: 'event', clock: 'store', event: end, found: true })
  }
}
