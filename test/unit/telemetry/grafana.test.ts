import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { createInstruments } from '../../../src/telemetry/instruments.ts'
import { METRICS, metricOf } from './known-metrics.ts'
import { Expression } from './promql.ts'
import { MetricsText } from './read-text.ts'

const file = (name: string) => readFileSync(new URL(`../../../grafana/${name}`, import.meta.url), 'utf8')

const datasource = z.object({ type: z.literal('prometheus'), uid: z.string().regex(/^\$\{datasource\}$/) })
const panel = z.object({
  id: z.int(),
  type: z.enum(['row', 'timeseries', 'stat', 'table']),
  title: z.string().min(1),
  description: z.string().optional(),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  targets: z
    .array(z.object({ refId: z.string(), expr: z.string(), legendFormat: z.string().optional(), datasource }))
    .default([]),
})
const dashboard = z
  .object({
    uid: z.string().min(1),
    title: z.string().min(1),
    templating: z.object({
      list: z.array(z.object({ name: z.string(), definition: z.string().optional() })),
    }),
    panels: z.array(panel).min(10),
  })
  .parse(JSON.parse(file('velvet-rope.json')))

const rule = z.strictObject({
  alert: z.string().regex(/^VelvetRope[A-Z]\w+$/),
  expr: z.string(),
  for: z
    .string()
    .regex(/^\d+[sm]$/)
    .optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
  annotations: z.strictObject({ summary: z.string().min(20), description: z.string().min(60) }),
})
const { groups } = z
  .strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule) })) })
  .parse(parse(file('alerts.yml')))
const rules = groups.flatMap((group) => group.rules)

const targets = dashboard.panels.flatMap(({ title, targets: all }) =>
  all.map(({ expr, legendFormat = '' }) => ({ title, expr, legend: legendFormat })),
)

const bounds = new Map<string, string[]>()
const les = (metric: string) => bounds.get(metric) ?? []

beforeAll(async () => {
  const registry = new Registry()
  const instruments = createInstruments(registry)
  for (const each of Object.values(instruments)) if ('observe' in each) each.observe({}, 1)
  for (const { name, labels } of new MetricsText(await registry.metrics()).samples) {
    const metric = metricOf(name)
    if (labels['le'] !== undefined) bounds.set(metric, [...les(metric), labels['le']])
  }
})

describe('the dashboard', () => {
  test.each(targets)('$title: $expr', ({ expr, legend }) => {
    const expression = new Expression(expr)
    expect(expression.faults(les)).toEqual([])
    const named = [...legend.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label]) => label!)
    expect(named.filter((label) => !expression.groups.includes(label))).toEqual([])
  })

  test('shows every metric', () => {
    const shown = new Set(
      targets.flatMap(({ expr }) => new Expression(expr).selectors.map(({ name }) => metricOf(name))),
    )
    expect(Object.keys(METRICS).filter((name) => !shown.has(name))).toEqual([])
  })

  test('asks for variables that it has', () => {
    const known = [...dashboard.templating.list.map(({ name }) => name), '__rate_interval']
    const used = targets.flatMap(({ expr }) => [...expr.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name!))
    expect(used).toContain('pattern')
    expect(used.filter((name) => !known.includes(name))).toEqual([])
    const definitions = dashboard.templating.list.flatMap(({ definition }) => definition ?? [])
    expect(definitions).toEqual(['label_values(velvet_rope_waiting, pattern)'])
    expect(METRICS['velvet_rope_waiting']).toContain('pattern')
  })

  test('has panels that do not cover each other, each with its own number', () => {
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const taken = new Map<string, string>()
    for (const { title, gridPos } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, taken.get(`${x} ${y}`)]).toEqual([title, undefined])
          taken.set(`${x} ${y}`, title)
        }
      }
    }
  })

  test('counts each bucket on Redis once, though every process reports all of them', () => {
    const seenByAll = ['waiting', 'capacity', 'fill_ratio_max', 'oldest_wait_seconds', 'buckets', 'families']
    seenByAll.push('family_waiting', 'family_capacity', 'family_fill_ratio_max')
    for (const { expr } of [...targets, ...rules]) {
      for (const { name } of new Expression(expr).selectors) {
        if (seenByAll.includes(name.replace('velvet_rope_', ''))) expect(expr).toMatch(/^max by \(\w+\) \(/)
      }
    }
  })
})

describe('the alerts', () => {
  test.each(rules)('$alert: $expr', ({ expr, annotations }) => {
    const expression = new Expression(expr)
    expect(expression.faults(les)).toEqual([])
    const named = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label!)
    const known = expression.groups.length > 0 ? expression.groups : ['instance', 'job']
    expect(named.filter((label) => !known.includes(label))).toEqual([])
  })

  const exprOf = (name: string) => rules.find(({ alert }) => alert === `VelvetRope${name}`)!.expr

  test('see a process that is down, whatever its job name', () => {
    expect(exprOf('Down')).not.toContain('job=')
    expect(exprOf('Down')).toMatch(
      /up == 0 and on \(job, instance\) present_over_time\(velvet_rope_build_info\[/,
    )
  })

  test('see a shaper without a leader next to one with a leader', () => {
    expect(exprOf('NoLeader')).toMatch(/^sum by \(shaper\) /)
  })

  test('see early starts before the first scrape of a series', () => {
    const form =
      /increase\((?<one>\S+)\[(?<window>\w+)\]\)\) > 0 or\s+sum by \(pattern\) \((?<two>\S+) unless (?<three>\S+) offset (?<offset>\w+)\) > 0/
    const { one, two, three, window, offset } = form.exec(exprOf('TooEarly'))!.groups!
    expect(new Set([one, two, three])).toEqual(new Set(['velvet_rope_gap_ratio_bucket{le="0.74"}']))
    expect(offset).toBe(window)
  })

  test('are exactly these', () => {
    expect(rules.map(({ alert }) => alert.replace('VelvetRope', '')).sort()).toEqual([
      'ConfigRefused',
      'DeparturesLate',
      'Down',
      'HandoverFails',
      'LateStarts',
      'NearlyFull',
      'NoLeader',
      'RedisErrors',
      'TooEarly',
      'WaitTooLong',
    ])
  })
})

test.each([
  ['velvet_rope_nothing', 'unknown metric velvet_rope_nothing'],
  ['sum(rate(velvet_rope_departure_total[5m]))', 'unknown metric velvet_rope_departure_total'],
  ['max by (key) (velvet_rope_waiting)', 'by unknown label key'],
  ['velvet_rope_waiting{key="k"}', 'velvet_rope_waiting has no label key'],
  ['velvet_rope_departures_total', 'velvet_rope_departures_total only grows: rate or increase'],
  ['rate(velvet_rope_waiting[5m])', 'velvet_rope_waiting is a gauge: no rate'],
  ['rate(velvet_rope_wait_seconds[5m])', 'velvet_rope_wait_seconds is a histogram: _bucket, _sum or _count'],
  ['rate(velvet_rope_wait_seconds_total[5m])', 'unknown metric velvet_rope_wait_seconds_total'],
  ['rate(velvet_rope_departures_total_count[5m])', 'unknown metric velvet_rope_departures_total_count'],
  ['increase(velvet_rope_gap_ratio_bucket{le="0.7"}[5m])', 'velvet_rope_gap_ratio_bucket never has le="0.7"'],
  [
    'increase(velvet_rope_config_reloads_total{outcome="failed"}[5m])',
    'velvet_rope_config_reloads_total never has outcome="failed"',
  ],
  ['summ(velvet_rope_waiting)', 'unknown function summ'],
  ['sum(1)', 'no metric'],
])('%s would be detected', (expr, fault) => {
  expect(new Expression(expr).faults(les)).toContain(fault)
})
