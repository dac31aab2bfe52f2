import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import {
  BackendUnavailableError,
  ForeignValueError,
  InvalidOptionsError,
} from '../../../../src/core/errors.ts'
import { NotAnErrorError } from '../../../../src/core/thrown.ts'
import { asBackendError } from '../../../../src/redis/connection/redis-errors.ts'

const SECRET = 'payload-that-is-secret'

/** As ioredis makes them: with the command. */
function reply(message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { command: { name: 'evalsha', args: ['sha', SECRET] }, ...more })
}

test.each([
  ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'a script runs'],
  ['CLUSTERDOWN The cluster is down', 'the cluster is down'],
  ['LOADING Redis is loading the dataset in memory', 'loading its data'],
  ['MASTERDOWN Link with MASTER is down', 'lost its master'],
  ['MISCONF Redis is configured to save RDB snapshots', 'cannot save'],
  ['NOAUTH Authentication required.', 'wants a password'],
  ["NOPERM this user has no permissions to run the 'evalsha' command", 'may not run'],
  ['NOREPLICAS Not enough good replicas to write.', 'too few replicas'],
  ["OOM command not allowed when used memory > 'maxmemory'. script: x, on @user_script:1.", 'memory is full'],
  ["READONLY You can't write against a read only replica.", 'is a replica'],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'password is wrong'],
  ['ERR max number of clients reached', 'maxclients'],
  ['Command timed out', 'no answer in time'],
  ['connect ETIMEDOUT', 'cannot be connected'],
  ['Connection is closed.', 'the connection was lost'],
  ["Stream isn't writeable and enableOfflineQueue options is false", 'not connected'],
  ["Cluster isn't ready and enableOfflineQueue options is false", 'not connected'],
  ['Reached the max retries per request limit (which is 0).', 'the connection was lost'],
  ['Failed to refresh slots cache.', 'no node of the cluster'],
  ['None of startup nodes is available', 'no node of the cluster'],
  ['Too many Cluster redirections. Last error: Error: MOVED 1 h:1', 'no node of the cluster'],
])('%s', (message, reason) => {
  const error = asBackendError(reply(message))
  expect(error).toBeInstanceOf(BackendUnavailableError)
  expect(error.message).toContain(`Redis is unavailable: `)
  expect(error.message).toContain(reason)
  expect(error.cause).toMatchObject({ message })
  expect(inspect(error, { depth: 9 })).not.toContain(SECRET)
})

test.each([
  [{ code: 'ECONNREFUSED', syscall: 'connect' }, 'connect failed (ECONNREFUSED)'],
  [{ code: 'ENOENT', syscall: 'connect' }, 'connect failed (ENOENT)'],
  [{ code: 'ENOTFOUND', syscall: 'getaddrinfo' }, 'getaddrinfo failed (ENOTFOUND)'],
  [{ code: 'ECONNRESET', syscall: 'read' }, 'read failed (ECONNRESET)'],
  [{ code: 'EPIPE' }, 'the connection was lost (EPIPE)'],
  [{ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'no TLS connection came about (DEPTH_ZERO_SELF_SIGNED_CERT)'],
  [{ name: 'AbortError' }, 'the connection was lost'],
  [{ name: 'ClusterAllFailedError', lastNodeError: reply('x') }, 'no node of the cluster answers'],
])('errors of sockets are known by their fields: %o', (fields, reason) => {
  const error = asBackendError(Object.assign(new Error('m'), fields))
  expect(error).toBeInstanceOf(BackendUnavailableError)
  expect(error.message).toContain(reason)
  expect(inspect(error, { depth: 9 })).not.toContain(SECRET)
})

test('what is not ours under our names', () => {
  const wrongType = asBackendError(reply('WRONGTYPE Operation against a key holding the wrong kind of value'))
  expect(wrongType).toBeInstanceOf(ForeignValueError)
  expect(wrongType.message).toContain('a value of another type')
  const script = `script: ${'0'.repeat(40)}, on @user_script:7.`
  const foreign = asBackendError(reply(`VR_FOREIGN states of "a" ${script}`))
  expect(foreign).toBeInstanceOf(ForeignValueError)
  expect(foreign.message).toMatch(/that is not ours: states of "a"$/)
  expect(asBackendError(reply('VR_FOREIGN')).message).toMatch(/that is not ours: a value$/)
  expect(inspect([wrongType, foreign], { depth: 9 })).not.toContain(SECRET)
})

test('errors of ours and unknown errors stay what they are', () => {
  const ours = new InvalidOptionsError('m')
  expect(asBackendError(ours)).toBe(ours)
  const unknown = new TypeError('x is not a function')
  expect(asBackendError(unknown)).toBe(unknown)
  const file = Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT', syscall: 'open' })
  expect(asBackendError(file)).toBe(file)
  expect(asBackendError('text')).toBeInstanceOf(NotAnErrorError)
})

test('an unknown reply keeps its message and its name, and loses its command', () => {
  const error = asBackendError(reply('ERR something new', { name: 'ReplyError', code: 'X' }))
  expect(error).toMatchObject({ name: 'ReplyError', message: 'ERR something new', code: 'X' })
  expect(error).not.toHaveProperty('command')
  const echoed = asBackendError(reply(`ERR unknown command 'x', with args beginning with: '${SECRET}' `))
  expect(inspect(echoed, { depth: 9 })).not.toContain(SECRET)
  // A word that only begins like one that is known.
  expect(asBackendError(reply('BUSYKEY Target key name already exists.'))).not.toBeInstanceOf(
    BackendUnavailableError,
  )
})
