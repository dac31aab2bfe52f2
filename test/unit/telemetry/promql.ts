import { METRICS, metricOf } from './known-metrics.ts'

/** What Prometheus adds by itself: to every series, and as a series. */
const OF_TARGETS = ['instance', 'job']
const OF_PROMETHEUS = ['up']
const FUNCTIONS = ['sum', 'max', 'rate', 'increase', 'histogram_quantile', 'absent', 'present_over_time']
const OPERATORS = ['or', 'and', 'unless', 'by', 'on']
/** Labels that have few values, which an expression may name. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'velvet_rope_admissions_total outcome': ['accepted', 'full', 'deadline', 'paused', 'too-costly'],
  'velvet_rope_meter_fills_total outcome': ['accepted', 'full', 'blocked', 'never-fits'],
  'velvet_rope_handoffs_total outcome': ['added', 'error'],
  'velvet_rope_config_reloads_total outcome': ['success', 'failure'],
}

export interface Selector {
  readonly name: string
  readonly labels: readonly string[]
  readonly matchers: readonly (readonly [label: string, how: string, value: string])[]
}

/** The metrics that an expression asks for, and the labels that its answer has, as far as we use the language. */
export class Expression {
  readonly selectors: readonly Selector[]
  /** Of `by (...)`. */
  readonly groups: readonly string[]
  readonly #text: string

  constructor(text: string) {
    this.#text = text
    this.groups = [...text.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, labels]) => labels!.split(/\s*,\s*/))
    const bare = text.replace(/\b(?:by|on)\s*\([^)]*\)|\[[^\]]*\]|\boffset\s+\w+/g, ' ')
    const names = [...bare.matchAll(/([a-z_:][\w:]*)\s*(\{[^}]*\}|\(|)/gi)]
    // What stands in the braces was taken with the name before them.
    this.selectors = names.flatMap(([, name, rest]) =>
      rest === '(' || OPERATORS.includes(name!) ? [] : [selectorOf(name!, rest!)],
    )
  }

  /** Everything that is wrong with it, in words. `les` are the upper bounds of a histogram's buckets. */
  faults(les: (metric: string) => readonly string[]): string[] {
    const functions = [...this.#text.matchAll(/\b([a-z_]+)\s*\(/g)].map(([, name]) => name!)
    return [
      ...functions
        .filter((name) => !FUNCTIONS.includes(name) && !OPERATORS.includes(name))
        .map((name) => `unknown function ${name}`),
      ...(this.selectors.length === 0 ? ['no metric'] : []),
      ...this.selectors.flatMap((selector) => this.#faultsOf(selector, les)),
      ...this.unknownLabels(this.groups).map((label) => `by unknown label ${label}`),
    ]
  }

  /** Those that none of its metrics has. */
  unknownLabels(labels: readonly string[]): string[] {
    const known = this.selectors.flatMap((selector) => selector.labels)
    return labels.filter((label) => !known.includes(label))
  }

  #faultsOf({ name, labels, matchers }: Selector, les: (metric: string) => readonly string[]): string[] {
    if (OF_PROMETHEUS.includes(name)) return []
    const metric = metricOf(name)
    if (METRICS[metric] === undefined) return [`unknown metric ${name}`]
    const [type] = METRICS[metric]
    const isPart = metric !== name
    const isRated = new RegExp(`(?:rate|increase)\\(\\s*${name}\\b`).test(this.#text)
    return [
      ...(type === 'histogram' && !isPart ? [`${name} is a histogram: _bucket, _sum or _count`] : []),
      ...(type !== 'gauge' && !isRated ? [`${name} only grows: rate or increase`] : []),
      ...(type === 'gauge' && isRated ? [`${name} is a gauge: no rate`] : []),
      ...matchers.flatMap(([label, how, value]) => {
        if (!labels.includes(label)) return [`${name} has no label ${label}`]
        if (how !== '=') return []
        const known = label === 'le' ? les(metric) : VALUES[`${metric} ${label}`]
        return known?.includes(value) === false ? [`${name} never has ${label}="${value}"`] : []
      }),
    ]
  }
}

function selectorOf(name: string, braces: string): Selector {
  const [, ...own] = METRICS[metricOf(name)] ?? ['']
  const labels = [...own, ...OF_TARGETS, ...(name.endsWith('_bucket') ? ['le'] : [])]
  const matchers = [...braces.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(
    ([, label, how, value]) => [label!, how!, value!] as const,
  )
  return { name, labels, matchers }
}
