/** A request within the limits whose body costs as much as possible of its kind. */
export interface WorstBody {
  readonly name: string
  readonly path: string
  readonly body: string
}

const ONE = '/v1/buckets/attacker/jobs'
const MANY = '/v1/jobs'
/** Bytes; a little less than the default limits of a request and of a batch. */
const MOST_OF_ONE = 65_000
const MOST_OF_BATCH = 1_048_000
/** A little less than the default of `http.maxValues`. */
const MOST_VALUES = 19_900
const DEEPEST = 30

const jobWith = (data: string) => `{"jobs":[{"key":"attacker","data":${data}}]}`
const listOf = (one: (index: number) => string, count: number) =>
  `[${Array.from({ length: count }, (_, index) => one(index)).join(',')}]`
const batchOf = (one: (index: number) => string, count: number) => `{"jobs":${listOf(one, count)}}`
const fieldsOf = (count: number, value: string) =>
  Array.from({ length: count }, (_, index) => `"${index.toString(36)}":${value}`).join(',')
const filled = (text: string, most: number) => text.repeat(Math.floor(most / text.length))
/** As many of them as both limits allow. */
const textsOf = (one: string) => {
  const count = Math.min(MOST_VALUES, Math.floor(MOST_OF_BATCH / (one.length + 3)))
  return listOf(() => `"${one}"`, count)
}
const nested = (inner: string) => '['.repeat(DEEPEST) + inner + ']'.repeat(DEEPEST)

export const WORST_BODIES: readonly WorstBody[] = [
  { name: 'zeros', path: MANY, body: jobWith(`[${'0,'.repeat(MOST_VALUES)}0]`) },
  { name: 'empty objects', path: MANY, body: jobWith(listOf(() => '{}', MOST_VALUES / 2)) },
  { name: 'fields of data', path: MANY, body: jobWith(`{${fieldsOf(MOST_VALUES, '0')}}`) },
  { name: 'deep lists', path: MANY, body: jobWith(listOf(() => nested(''), MOST_VALUES / DEEPEST - 1)) },
  { name: 'too deep a list', path: MANY, body: jobWith('['.repeat(19_000) + ']'.repeat(19_000)) },
  { name: 'one plain text', path: MANY, body: jobWith(`"${'x'.repeat(MOST_OF_BATCH)}"`) },
  { name: 'one text of escapes', path: MANY, body: jobWith(`"${filled('\\u00e9', MOST_OF_BATCH)}"`) },
  { name: 'one text of short escapes', path: MANY, body: jobWith(`"${filled('\\n', MOST_OF_BATCH)}"`) },
  { name: 'one text of quotes', path: MANY, body: jobWith(`"${filled('\\"', MOST_OF_BATCH)}"`) },
  { name: 'one text of emoji', path: MANY, body: jobWith(`"${filled('\u{1f600}', MOST_OF_BATCH / 2)}"`) },
  { name: 'texts of escapes', path: MANY, body: jobWith(textsOf('\\u0001'.repeat(7))) },
  {
    name: 'numbers of many digits',
    path: MANY,
    body: jobWith(listOf(() => `0.${'7'.repeat(46)}`, MOST_VALUES)),
  },
  { name: 'one number of many digits', path: MANY, body: jobWith(`0.${'7'.repeat(MOST_OF_BATCH)}`) },
  { name: 'one integer of many digits', path: MANY, body: jobWith('9'.repeat(MOST_OF_BATCH)) },
  {
    name: 'integers that no double holds',
    path: MANY,
    body: jobWith(listOf(() => '9'.repeat(48), MOST_VALUES)),
  },
  { name: 'unknown fields of a batch', path: MANY, body: `{"jobs":[],${fieldsOf(MOST_VALUES, '0')}}` },
  {
    name: 'unknown fields of jobs',
    path: MANY,
    body: batchOf(() => `{"key":"k","data":0,${fieldsOf(15, '0')}}`, 1_000),
  },
  { name: 'faults of jobs', path: MANY, body: batchOf(() => '{"cost":0,"attempts":0,"id":" "}', 1_000) },
  {
    name: 'long unknown names',
    path: MANY,
    body: `{"jobs":[],${fieldsOf(20, '0').replaceAll('":', `${'x'.repeat(50_000)}":`)}}`,
  },
  {
    name: 'most jobs',
    path: MANY,
    body: batchOf((index) => `{"key":"attacker","data":0,"id":"{}-${index}"}`, 1_000),
  },
  {
    name: 'most jobs, of a key each',
    path: MANY,
    body: batchOf((index) => `{"key":"attacker/{}/${index}","data":0}`, 1_000),
  },
  {
    name: 'most jobs, of a kilobyte each',
    path: MANY,
    body: batchOf(() => `{"key":"attacker","data":"${'\\u0001'.repeat(160)}"}`, 1_000),
  },
  { name: 'most jobs, of foreign keys', path: MANY, body: batchOf(() => '{"key":"victim","data":0}', 1_000) },
  { name: 'a job of zeros', path: ONE, body: `{"data":[${'0,'.repeat(MOST_VALUES)}0]}` },
  { name: 'a job of one text', path: ONE, body: `{"data":"${filled('\\n', MOST_OF_ONE)}"}` },
  { name: 'no JSON', path: MANY, body: `{"jobs":[{"key":"attacker","data":"${'x'.repeat(MOST_OF_BATCH)}` },
]
