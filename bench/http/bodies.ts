import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ServiceProcess } from './attacks/service.ts'
import { WORST_BODIES, type WorstBody } from './attacks/worst-bodies.ts'

/**
 * For how long the worst bodies within the limits hold the event loop of a service: `tsx bench/http/bodies.ts [--checkout DIR]`.
 * The time is measured in the process of the service, in each turn of its loop, and counts no time in which the system ran
 * other processes. Of several requests the one that held the loop least counts: the others met a collection.
 */
const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '8' },
    checkout: { type: 'string', default: fileURLToPath(new URL('../..', import.meta.url)) },
    port: { type: 'string', default: '7178' },
  },
})
const TOKENS = { attacker: 'attacker-of-the-bench', victim: 'victim-of-the-bench' }
const WARM_UP = 3

const service = await ServiceProcess.start({
  checkout: flags.checkout,
  port: Number(flags.port),
  heapMb: 1_024,
  tokens: TOKENS,
  // Neither the rate nor the refusals of a busy process are what this is about.
  setting: { tokenLimit: '1000000, 100000/s', more: 'http: { overload: { maxLagMs: 60000 } }' },
  isWatched: true,
})
const headers = { authorization: `Bearer ${TOKENS.attacker}`, 'content-type': 'application/json' }

async function send({ path, body }: WorstBody, round: number): Promise<number> {
  // Each round has ids and keys of its own.
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers,
    body: body.replaceAll('{}-', `${round}-`).replaceAll('/{}/', `/${round}/`),
  })
  await response.arrayBuffer()
  return response.status
}

try {
  console.log('| body | bytes | answer | ms, least of all rounds | median |')
  console.log('| --- | --: | --: | --: | --: |')
  for (const worst of WORST_BODIES) {
    for (let round = 0; round < WARM_UP; round++) await send(worst, round)
    const holds: number[] = []
    let status = 0
    for (let round = 0; round < Number(flags.rounds); round++) {
      await service.longestHold()
      status = await send(worst, WARM_UP + round)
      holds.push(await service.longestHold())
    }
    holds.sort((one, other) => one - other)
    const [least = 0, median = 0] = [holds[0], holds[Math.floor(holds.length / 2)]]
    console.log(
      `| ${worst.name} | ${Buffer.byteLength(worst.body)} | ${status} | ${least.toFixed(1)} | ${median.toFixed(1)} |`,
    )
  }
} finally {
  await service.stop()
}
