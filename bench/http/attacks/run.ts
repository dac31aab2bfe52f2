import { fork } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ATTACKS, type Attack, attackNamed, type Target } from './attack.ts'
import { ServiceProcess } from './service.ts'
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
    heap: { type: 'string', default: '512' },
    port: { type: 'string', default: '7177' },
    loop: { type: 'boolean', default: false },
  },
})
const ATTACKER = fileURLToPath(new URL('./attacker.ts', import.meta.url))
const WARM_UP_MS = 2_000
const TOKENS = { attacker: 'attacker-of-the-bench', victim: 'victim-of-the-bench' }

interface Row {
  readonly attack: string
  readonly calm: Experience
  readonly attacked: Experience
  readonly peakMb: number
  readonly hasCrashed: boolean
  readonly accepted: number
  readonly lost: number
  /** Whether the probe of the attack succeeded. */
  readonly probe?: boolean
  /** The longest time that the loop was held meanwhile, in milliseconds; with `--loop`. */
  readonly hold?: number
}

async function measure(attack: Attack): Promise<Row> {
  const port = Number(flags.port)
  const checkout = resolve(flags.checkout)
  const service = await ServiceProcess.start({
    checkout,
    port,
    heapMb: Number(flags.heap),
    tokens: TOKENS,
    isWatched: flags.loop,
  })
  const target: Target = { url: service.url, host: '127.0.0.1', port, token: TOKENS.attacker }
  const victim = new Victim(service.url, TOKENS.victim)
  const looking = setInterval(() => service.look(), 100)
  await victim.askFor(WARM_UP_MS)
  const calm = await victim.askFor(WARM_UP_MS)
  if (flags.loop) await service.longestHold()
  const attacker = fork(ATTACKER, [attack.name, JSON.stringify(target)])
  try {
    const probing = attack.probe && probeLater(attack.probe, { ...target, token: TOKENS.victim })
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
  }
}

/** When the attack has been going on for a while. */
async function probeLater(probe: NonNullable<Attack['probe']>, target: Target): Promise<boolean> {
  await new Promise((done) => setTimeout(done, (Number(flags.seconds) * 1_000) / 2))
  return probe(target).catch(() => false)
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`
const ms = (value: number) => `${value.toFixed(1)} ms`

for (const attack of positionals.length > 0 ? positionals.map(attackNamed) : ATTACKS) {
  const { calm, attacked, ...row } = await measure(attack)
  console.log(`${attack.name}: ${attack.what}`)
  console.log(`  before    p50 ${ms(calm.p50)}, p99 ${ms(calm.p99)}, 503 ${percent(calm.share503)}`)
  console.log(
    `  meanwhile p50 ${ms(attacked.p50)}, p99 ${ms(attacked.p99)}, longest ${ms(attacked.max)}, ` +
      `503 ${percent(attacked.share503)}, no answer ${percent(attacked.shareFailed)} of ${attacked.requests}`,
  )
  console.log(
    `  memory at most ${row.peakMb.toFixed(0)} MB, ${row.hasCrashed ? 'crashed' : 'alive'}, ` +
      `lost ${row.lost} of ${row.accepted} accepted jobs` +
      `${row.probe === undefined ? '' : `, another token ${row.probe ? 'can' : 'cannot'} do the same`}` +
      `${row.hold === undefined ? '' : `, loop held for at most ${ms(row.hold)}`}`,
  )
}
