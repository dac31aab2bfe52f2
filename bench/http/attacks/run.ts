import { fork } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ATTACKS, type Attack, attackNamed, type Target } from './attack.ts'
import { ServiceProcess } from './service.ts'
import { ThirdParty } from './third-party.ts'
import { type Experience, Victim } from './victim.ts'

/**
 * What a client experiences while another attacks: `tsx bench/http/attacks/run.ts [NAME ...]`. The service, the attacker and
 * the client are three processes; the service is that of `--checkout`, so that one can compare two versions.
 */
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '10' },
    checkout: { type: 'string', default: fileURLToPath(new URL('../../..', import.meta.url)) },
    heap: { type: 'string' },
    port: { type: 'string', default: '7177' },
    loop: { type: 'boolean', default: false },
  },
})
const ATTACKER = fileURLToPath(new URL('./attacker.ts', import.meta.url))
const WARM_UP_MS = 2_000
const HEAP_MB = 512
const TOKENS = { attacker: 'attacker-of-the-bench', victim: 'victim-of-the-bench' }

interface Row {
  readonly attack: string
  readonly calm: Experience
  readonly attacked: Experience
  readonly peakMb: number
  readonly hasCrashed: boolean
  readonly accepted: number
  readonly lost: number
  /** What the probe of the attack found. */
  readonly probe?: string
  /** The longest time that the loop was held meanwhile, in milliseconds; with `--loop`. */
  readonly hold?: number
}

async function measure(attack: Attack): Promise<Row> {
  const port = Number(flags.port)
  const checkout = resolve(flags.checkout)
  const heapMb = Number(flags.heap ?? attack.heapMb ?? HEAP_MB)
  const thirdParty = await ThirdParty.start()
  const setting = attack.setting?.(thirdParty.url) ?? {}
  const service = await ServiceProcess.start({
    checkout,
    port,
    heapMb,
    tokens: TOKENS,
    setting,
    isWatched: flags.loop,
  })
  const address = { url: service.url, host: '127.0.0.1', port, thirdParty: thirdParty.url }
  const target: Target = { ...address, token: TOKENS.attacker }
  const ofVictim: Target = { ...address, token: TOKENS.victim }
  const victim = new Victim(service.url, TOKENS.victim, attack.dataOfVictim?.(thirdParty.url) ?? 0)
  const looking = setInterval(() => service.look(), 100)
  await attack.prepare?.(target, ofVictim)
  await victim.askFor(WARM_UP_MS)
  const calm = await victim.askFor(WARM_UP_MS)
  if (flags.loop) await service.longestHold()
  const attacker = fork(ATTACKER, [attack.name, JSON.stringify(target)])
  try {
    const probing = attack.probe && probeLater(() => attack.probe!(ofVictim, thirdParty))
    const attacked = await victim.askFor(Number(flags.seconds) * 1_000)
    const probe = await probing
    const hold = flags.loop && !service.hasEnded ? await service.longestHold() : undefined
    attacker.kill('SIGKILL')
    const hasCrashed = service.hasEnded
    const lost = hasCrashed ? victim.accepted.length : await victim.countLost()
    const row = { attack: attack.name, calm, attacked, hasCrashed, accepted: victim.accepted.length, lost }
    return {
      ...row,
      peakMb: service.peak / 1_048_576,
      ...(probe !== undefined && { probe }),
      ...(hold !== undefined && { hold }),
    }
  } finally {
    clearInterval(looking)
    attacker.kill('SIGKILL')
    victim.close()
    await service.stop()
    thirdParty.stop()
  }
}

/** When the attack has been going on for a while. */
async function probeLater(probe: () => Promise<string>): Promise<string> {
  await new Promise((done) => setTimeout(done, (Number(flags.seconds) * 1_000) / 2))
  return probe().catch(() => 'another token got no answer')
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`
const ms = (value: number) => `${value.toFixed(1)} ms`

for (const attack of positionals.length > 0 ? positionals.map(attackNamed) : ATTACKS) {
  const { calm, attacked, ...row } = await measure(attack)
  console.log(`${attack.name}: ${attack.what}`)
  console.log(
    `  before    p50 ${ms(calm.p50)}, p99 ${ms(calm.p99)}, 503 ${percent(calm.share503)}, 429 ${percent(calm.share429)}`,
  )
  console.log(
    `  meanwhile p50 ${ms(attacked.p50)}, p99 ${ms(attacked.p99)}, longest ${ms(attacked.max)}, ` +
      `503 ${percent(attacked.share503)}, 429 ${percent(attacked.share429)}, no answer ${percent(attacked.shareFailed)} of ${attacked.requests}`,
  )
  console.log(
    `  memory at most ${row.peakMb.toFixed(0)} MB, ${row.hasCrashed ? 'crashed' : 'alive'}, ` +
      `lost ${row.lost} of ${row.accepted} accepted jobs` +
      `${row.probe === undefined ? '' : `, ${row.probe}`}` +
      `${row.hold === undefined ? '' : `, loop held for at most ${ms(row.hold)}`}`,
  )
}
