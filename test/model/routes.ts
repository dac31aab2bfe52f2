const ALONE = [
  'scheduler 1: claims',
  'job a: a producer enqueues',
  'scheduler 1: claims',
  'scheduler 1: hands over what it claimed',
]
/** Worker 1 starts the job, loses it, and worker 2 gets a slot for it. */
const TAKEN_OVER = [
  ...ALONE,
  'job a to worker 1: BullMQ delivers',
  'worker 1, job a: asks for a slot',
  'worker 1, job a: looks, and calls the handler',
  '190 ticks pass',
  'scheduler 1: claims',
  '190 ticks pass',
  'scheduler 1: takes back what has lost its lease',
  '40 ticks pass',
  'scheduler 1: claims',
  'scheduler 1: hands over what it claimed',
  'job a to worker 2: BullMQ delivers',
  'worker 2, job a: asks for a slot',
]

/** Ways to faults that random walks seldom meet, by the mutant that they show. */
export const ROUTES = {
  'finish-without-epoch': [
    ...TAKEN_OVER,
    '11 ticks pass',
    'worker 2, job a: looks, and calls the handler',
    'worker 2, job a: reports the start',
    'worker 1, job a: reports the end: completed',
  ],
  'start-without-epoch': [...TAKEN_OVER, 'worker 1, job a: reports the start'],
  'settle-without-fence': [
    ...TAKEN_OVER,
    '11 ticks pass',
    'worker 2, job a: looks, and calls the handler',
    'worker 2, job a: reports the start',
    'worker 1, job a: says what it took',
  ],
  'back-without-worker': [
    ...ALONE,
    'job a to worker 1: BullMQ delivers, and will deliver again',
    'job a to worker 2: BullMQ delivers',
    'worker 1, job a: asks for a slot',
    'worker 2, job a: gives the job back',
  ],
} as const
