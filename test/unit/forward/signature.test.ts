import { createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { signatureHeaders, signingKey } from '../../../src/forward/signature.ts'
import { allowing, farSide, forwarder, jobOf } from './forwarding.ts'

/** The example of the specification's reference libraries. */
const EXAMPLE = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: '1614265330',
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}

test('the example of Standard Webhooks has its published signature', () => {
  const { secret, id, timestamp, body, signature } = EXAMPLE
  expect(signatureHeaders(signingKey(secret)!, id, Number(timestamp) * 1_000 + 999, body)).toEqual({
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  })
})

test('a secret is whsec_ and base64 of 24 to 64 bytes', () => {
  const secretOf = (length: number) => `whsec_${randomBytes(length).toString('base64')}`
  expect([24, 25, 26, 63, 64].map((length) => signingKey(secretOf(length))?.length)).toEqual([
    24, 25, 26, 63, 64,
  ])
  const bad = [
    secretOf(23),
    secretOf(65),
    secretOf(32).slice(6),
    `whsec_${'a'.repeat(31)}!`,
    `whsec_${'a-_'.repeat(12)}`,
    `whsec_${'a'.repeat(33)}`,
    `${EXAMPLE.secret}\n`,
    `WHSEC_${EXAMPLE.secret.slice(6)}`,
    'whsec_',
    '',
  ]
  expect(bad.map(signingKey)).toEqual(bad.map(() => undefined))
})

test.each([
  ['POST', { text: 'hällo' }, '{"text":"hällo"}'],
  ['PUT', 'a.b.c', 'a.b.c'],
  ['GET', undefined, ''],
])(
  'a receiver of %s %j computes the signature that was sent, from the bytes that it received',
  async (method, body, text) => {
    const side = await farSide()
    const signing = { secret: `\${HOOK}` }
    const now = () => 1_700_000_000_999
    const forward = forwarder(allowing(side.url, { signing }), { env: { HOOK: EXAMPLE.secret }, now })
    await forward(jobOf({ method, url: `${side.url}/hook`, body }, { id: 'order-7' }))
    const [call] = side.received
    const key = Buffer.from(EXAMPLE.secret.slice(6), 'base64')
    const signed = createHmac('sha256', key).update(`api:order-7.1700000000.${text}`).digest('base64')
    expect(call!.body).toBe(text)
    expect(call!.headers).toMatchObject({
      'webhook-id': 'api:order-7',
      'webhook-timestamp': '1700000000',
      'webhook-signature': `v1,${signed}`,
      'idempotency-key': 'api:order-7',
    })
  },
)

test('nothing is signed without a secret', async () => {
  const side = await farSide()
  await forwarder(allowing(side.url))(jobOf({ method: 'GET', url: `${side.url}/` }))
  expect(Object.keys(side.received[0]!.headers).filter((name) => name.startsWith('webhook'))).toEqual([])
})
