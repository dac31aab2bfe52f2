import { setTimeout as sleep } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { spacingOfCallers, waysIntoTheCode } from '../support/campaign/caller-moments.ts'
import { Campaign, type CampaignPlan } from '../support/campaign/campaign.ts'
import { Chance } from '../support/campaign/chance.ts'
import { NEWS } from '../support/campaign/fleet.ts'
import type { Verdict } from '../support/campaign/judge.ts'
import type { CallerPlan, Fates } from '../support/campaign/plans.ts'
import { isTurnId } from '../support/turn-id.ts'

/** Longer than the leases of turns; least and most, milliseconds. */
const LONG_STOP_MS = [6_500, 9_000] as const
/** After which the turns of a process that died hold up no other. */
const PLACES_GONE_MS = 7_000

const FAST = 'fast'
const SLOW = 'slow/x'
const COSTLY = 'costly'
const NOW = 'now-or-never'
const LIMITS = { [FAST]: '16, 20/s', [SLOW]: '20, 5/s', [COSTLY]: '20, 10/s', [NOW]: '4, 10/s' }

/** Jobs and turns in the same lines: a producer, two workers, and callers in three processes. */
function plan(caller: Partial<CallerPlan> = {}): CampaignPlan {
  const everyCaller = {
    callers: 5,
    forMs: 10_000,
    costs: { [COSTLY]: [1, 3, 2] },
    tries: { [NOW]: 300 },
    ...caller,
  }
  return {
    limit: '10, 10/s',
    limits: LIMITS,
    keys: Object.keys(LIMITS),
    producers: [{ name: 'p', jobs: 20, gapMs: 400, comesBack: true }],
    workers: [1, 2].map(() => ({ concurrency: 50, leaseMs: 5_000, takesMs: 20 })),
    callers: [1, 2, 3].map((nth) => ({ ...everyCaller, seed: inject('faultSeed') + nth })),
    redis: {},
  }
}

const sum = (fates: readonly Fates[], name: keyof Fates) => fates.reduce((all, one) => all + one[name], 0)

function turnsIn({ history }: Verdict): string[] {
  return history.flatMap((event) => (event.type === 'start' && isTurnId(event.id) ? [event.id] : []))
}

/** The callers that did not go on in the very turn of the event loop in which they departed. */
const whoDawdled = ({ resumed }: Verdict) => [...resumed].filter(([, { isSameTurn }]) => !isSameTurn)

/** Every turn that departed belongs to a caller that went on immediately after its departure, and as far from the others as the limit says. */
function expectCallersKept(verdict: Verdict, lost = 0): void {
  const turns = turnsIn(verdict)
  const unseen = turns.filter((id) => !verdict.resumed.has(id))
  expect(unseen.length).toBeLessThanOrEqual(lost)
  expect(verdict.resumed.size).toBe(turns.length - unseen.length)
  expect(Math.min(...waysIntoTheCode(verdict.history, verdict.resumed))).toBeGreaterThanOrEqual(0)
  expect(whoDawdled(verdict)).toEqual([])
  expect(spacingOfCallers(verdict.history, verdict.resumed)).toEqual([])
}

test('callers in three processes and jobs share lines, and no law is broken', async () => {
  await using campaign = await Campaign.start(plan())
  await campaign.rest()
  const fates = await campaign.fates()
  const verdict = await campaign.verdict({ lag: NEWS })
  expectCallersKept(verdict)
  expect(sum(fates, 'departed')).toBe(turnsIn(verdict).length)
  expect(sum(fates, 'departed')).toBeGreaterThan(50)
  expect(sum(fates, 'refused')).toBeGreaterThan(0)
  expect(sum(fates, 'cancelled') + sum(fates, 'unavailable')).toBe(0)
})

const CHANCES = { aborts: { share: 0.4, withinMs: 1_500 }, timeouts: { share: 0.4, withinMs: 2_500 } }

test('callers that give up, and callers whose time is over, leave their places to the turns behind', async () => {
  await using campaign = await Campaign.start(plan(CHANCES))
  await campaign.rest()
  const fates = await campaign.fates()
  const verdict = await campaign.verdict({ lag: NEWS })
  expectCallersKept(verdict)
  expect(sum(fates, 'departed')).toBe(turnsIn(verdict).length)
  for (const fate of ['departed', 'aborted', 'refused'] as const) expect(sum(fates, fate)).toBeGreaterThan(10)
  expect(sum(fates, 'cancelled') + sum(fates, 'unavailable')).toBe(0)
})

test('the places of callers whose process is killed go to the turns behind, while others give up', async () => {
  const calm = plan({ forMs: 20_000 })
  const [first, second, third] = calm.callers!
  await using campaign = await Campaign.start({
    ...calm,
    callers: [first!, second!, { ...third!, ...CHANCES }],
  })
  const victims = campaign.callers.slice(0, 2)
  for (const victim of victims) {
    // Of two that die one right after the other, a line may hold the callers one behind the other, and waits for both.
    await sleep(victim === victims[0] ? new Chance().between(1_000, 4_000) : PLACES_GONE_MS)
    await campaign.kill(victim)
    await campaign.addCaller({
      ...first!,
      ...CHANCES,
      seed: inject('faultSeed') + 10 + campaign.callers.length,
    })
  }
  await campaign.rest()
  const fates = await campaign.fates()
  const verdict = await campaign.verdict({ lag: NEWS })
  // One that departed when its process died never came into the code of its caller.
  expectCallersKept(verdict, victims.length)
  expect(sum(fates, 'departed')).toBeGreaterThan(50)
  const given = verdict.history.filter((event) => event.type === 'end' && event.outcome === 'cancelled')
  expect(given.length).toBeGreaterThanOrEqual(victims.length)
})

test('callers whose process is stopped for longer than its leases lose their places, and do not go on', async () => {
  await using campaign = await Campaign.start(plan({ forMs: 15_000 }))
  const chance = new Chance()
  await sleep(chance.between(1_000, 4_000))
  await campaign.stop(chance.pick(campaign.callers), chance.between(...LONG_STOP_MS))
  await campaign.rest()
  const fates = await campaign.fates()
  const verdict = await campaign.verdict({ lag: NEWS })
  expectCallersKept(verdict)
  expect(sum(fates, 'cancelled')).toBeGreaterThan(0)
})

test('a caller that goes on without a turn is detected', async () => {
  // Each of them calls once, as on a machine that is busy with something else.
  const few = plan({ forMs: 1, barges: 20 })
  await using campaign = await Campaign.start({ ...few, callers: few.callers!.slice(0, 1) })
  await campaign.rest()
  const text = String(await campaign.verdict({ lag: NEWS }).catch((error: unknown) => error))
  expect(text).toMatch(/the start of job "barged-\d+-\d+" at .* ms after that of job/)
  expect(text).toMatch(/L5 key .*job "barged-\d+-\d+" started at .* though it was never accepted/)
})

test('callers that are slow to go on are detected by their own readings', async () => {
  await using campaign = await Campaign.start(plan({ forMs: 3_000, dawdles: { every: 3, ms: 30 } }))
  await campaign.rest()
  const verdict = await campaign.verdict({ lag: NEWS })
  expect(whoDawdled(verdict).length).toBeGreaterThanOrEqual(Math.floor(verdict.resumed.size / 3) - 20)
  expect(spacingOfCallers(verdict.history, verdict.resumed)).not.toEqual([])
})
