import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dice } from '../support/campaign/dice.ts'
import { render, reportOf } from './report.ts'
import { slopeOf } from './slope.ts'
import { soak } from './soak.ts'

// `npm run test:soak` sets these; without them this is a smoke test.
const minutes = Number(process.env['SOAK_MINUTES'] ?? 0.5)
const seed = Number(process.env['SOAK_SEED'] ?? process.env['FAULT_SEED'] ?? 1)
const out = process.env['SOAK_OUT']

test('under load and faults nothing grows, and at the end everything is as before', {
  timeout: 0,
}, async () => {
  const result = await soak({ minutes, seed, say: (text) => console.log(text) })
  const report = reportOf(result)
  console.log(render(result, report))
  if (out !== undefined) writeFileSync(out, JSON.stringify({ ...result, report }))
  expect(report.faults).toEqual([])
  expect(result.samples.length).toBeGreaterThan(3)
  expect(result.starts).toBeGreaterThanOrEqual(result.admitted)
})

test('a slope is found under noise, and noise is no slope', () => {
  const random = dice(1)
  const points = (perUnit: number) =>
    Array.from({ length: 200 }, (_, n) => [n / 400, 20 + (perUnit * n) / 400 + random() * 3] as const)
  const [flat, steep] = [slopeOf(points(0), random), slopeOf(points(6), random)]
  expect(flat.perUnit - flat.noise).toBeLessThan(1)
  expect(steep.perUnit - steep.noise).toBeGreaterThan(1)
  // A few samples in the middle of a collection do not move it.
  const spiky = points(0).map(([x, y], n) => [x, n % 23 === 0 ? y + 80 : y] as const)
  expect(Math.abs(slopeOf(spiky, random).perUnit)).toBeLessThan(2)
})
