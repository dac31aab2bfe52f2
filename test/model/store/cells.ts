/** A state of the model is one row of small whole numbers; records and lists are views of it. */
export type Cells = Int8Array | Float64Array

/** A record whose fields are cells, by name. */
export type Fields<Name extends string> = { [Each in Name]: number }

export interface RecordType<Name extends string> {
  readonly size: number
  /** The record that begins at the cell `base`. */
  over(cells: Cells, base: number): Fields<Name>
}

export function recordType<const Name extends string>(names: readonly Name[]): RecordType<Name> {
  class View {
    readonly cells: Cells
    readonly base: number
    get names(): readonly string[] {
      return names
    }
    constructor(cells: Cells, base: number) {
      this.cells = cells
      this.base = base
    }
  }
  for (const [index, name] of names.entries()) {
    Object.defineProperty(View.prototype, name, {
      get(this: View) {
        return this.cells[this.base + index]
      },
      set(this: View, value: number) {
        this.cells[this.base + index] = value
      },
    })
  }
  return {
    size: names.length,
    over: (cells, base) => new View(cells, base) as unknown as Fields<Name>,
  }
}

/** Where those fields of a record are, for code that goes through many of them in each state. */
export function cellsOf<Name extends string>(record: Fields<Name>, names: readonly Name[]): number[] {
  const { base, names: all } = record as unknown as {
    readonly base: number
    readonly names: readonly string[]
  }
  return names.map((name) => base + all.indexOf(name))
}

/** A list of jobs, which are numbers from 0 on. A free cell holds 0, a job its number plus 1. */
export class JobList {
  readonly #cells: Cells
  readonly #base: number
  readonly #room: number

  constructor(cells: Cells, base: number, room: number) {
    this.#cells = cells
    this.#base = base
    this.#room = room
  }

  get count(): number {
    let count = 0
    while (count < this.#room && this.#cells[this.#base + count] !== 0) count++
    return count
  }

  /** -1: there is none. */
  at(place: number): number {
    return place < this.#room ? this.#cells[this.#base + place]! - 1 : -1
  }

  has(job: number): boolean {
    return this.indexOf(job) !== -1
  }

  indexOf(job: number): number {
    for (let place = 0; place < this.#room; place++) if (this.at(place) === job) return place
    return -1
  }

  push(job: number): void {
    this.#cells[this.#base + this.count] = job + 1
  }

  unshift(job: number): void {
    for (let place = this.count; place > 0; place--) {
      this.#cells[this.#base + place] = this.#cells[this.#base + place - 1]!
    }
    this.#cells[this.#base] = job + 1
  }

  /** Does nothing where the job is not in the list. */
  remove(job: number): void {
    const from = this.indexOf(job)
    if (from === -1) return
    for (let place = from; place < this.#room - 1; place++) {
      this.#cells[this.#base + place] = this.#cells[this.#base + place + 1]!
    }
    this.#cells[this.#base + this.#room - 1] = 0
  }

  toArray(): number[] {
    return Array.from({ length: this.count }, (_, place) => this.at(place))
  }
}
