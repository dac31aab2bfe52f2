import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/
/** The specification requires 24 to 64 bytes. */
const SHORTEST_KEY = 24
const LONGEST_KEY = 64

/** Decodes a secret `whsec_<base64 of 24 to 64 bytes>`; undefined for anything else. */
export function signingKey(secret: string): Buffer | undefined {
  const text = secret.slice(PREFIX.length)
  if (!secret.startsWith(PREFIX) || !BASE64.test(text)) return undefined
  const key = Buffer.from(text, 'base64')
  return key.length >= SHORTEST_KEY && key.length <= LONGEST_KEY ? key : undefined
}

/**
 * Returns the headers of Standard Webhooks 1.0.0, by which a receiver verifies the sender and time of a body.
 *
 * @param now milliseconds since the epoch
 */
export function signatureHeaders(
  key: Buffer,
  id: string,
  now: number,
  body: string,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1_000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
