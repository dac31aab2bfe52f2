export interface Sample {
  /** With `_bucket`, `_sum` or `_count` for a histogram. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The text that Prometheus reads, by the rules of its format: a line that breaks them fails the test. */
export class MetricsText {
  readonly samples: readonly Sample[]
  /** The types of the metrics, by name. */
  readonly types: ReadonlyMap<string, string>

  constructor(text: string) {
    const lines = text.split('\n').filter((line) => line !== '')
    this.types = new Map(
      lines.flatMap((line) => {
        const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
        return name === undefined ? [] : [[name, type!]]
      }),
    )
    this.samples = lines.filter((line) => !line.startsWith('#')).map(readSample)
  }

  /** The value of the one sample with these labels among its labels; undefined where there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const found = this.all(name).filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    )
    if (found.length > 1) throw new Error(`${found.length} samples of ${name} have ${JSON.stringify(labels)}`)
    return found[0]?.value
  }

  all(name: string): Sample[] {
    return this.samples.filter((sample) => sample.name === `velvet_rope_${name}`)
  }

  /** Every value that a label has anywhere. */
  labelValues(label: string): Set<string> {
    return new Set(this.samples.flatMap(({ labels }) => labels[label] ?? []))
  }
}

function readSample(line: string): Sample {
  const [whole, name, list = '', value] =
    /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? stop(line)
  const labels: Record<string, string> = {}
  let rest = list
  while (rest !== '') {
    const [all, label, escaped] =
      /^([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)",?/i.exec(rest) ?? stop(whole!)
    labels[label!] = escaped!.replace(/\\(.)/g, (_, one) => (one === 'n' ? '\n' : one))
    rest = rest.slice(all!.length)
  }
  return { name: name!, labels, value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value) }
}

function stop(line: string): never {
  throw new Error(`no line of the format: ${line}`)
}
