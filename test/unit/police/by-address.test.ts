import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import { ipKey, Meter, policeExpress, policeFastify, policeHono } from '../../../src/meter.ts'

/** As the documentation of each has it, without a word on types. */
const limits = { '127.0.0.1': '1, 1/h', '2001:db8:0:1::': '1, 1/h' }

test('Hono, by the address of the socket', async () => {
  const meter = new Meter('ip', { limits })
  const app = new Hono<{ Variables: { user: string } }>()
  app.use('/api/*', policeHono(meter, { key: (context) => ipKey(getConnInfo(context).remote.address) }))
  app.get('/api/:id', (context) => context.text(context.req.param('id')))
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const first = await fetch(`${url}/api/7`)
  expect([first.status, await first.text()]).toEqual([200, '7'])
  expect((await fetch(`${url}/api/7`)).status).toBe(429)
  expect((await fetch(`${url}/elsewhere`)).status).toBe(404)
})

test('Express, by the address from a proxy', async () => {
  const meter = new Meter('ip', { limits })
  const app = express().set('trust proxy', 'loopback')
  app.use('/api', policeExpress(meter, { key: (request) => ipKey(request.ip) }))
  app.get('/api/:id', (request, response) => void response.send(request.params.id))
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/7`
  const from = async (address: string) =>
    (await fetch(url, { headers: { 'x-forwarded-for': address, connection: 'close' } })).status
  expect(await from('2001:db8:0:1::1')).toBe(200)
  expect(await from('2001:db8:0:1:ffff::2')).toBe(429)
  expect(await from('::ffff:127.0.0.1')).toBe(200)
  expect(await from('127.0.0.1')).toBe(429)
})

test('Express, one route, by a field that only Express has', async () => {
  const meter = new Meter('id', { limits: { '*': '1, 1/h' } })
  const app = express()
  const key = (request: express.Request) => String(request.params['id'])
  app.get('/:id', policeExpress(meter, { key }), (_request, response) => void response.send('done'))
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const statusOf = async (id: string) =>
    (await fetch(`${url}/${id}`, { headers: { connection: 'close' } })).status
  expect([await statusOf('a'), await statusOf('a'), await statusOf('b')]).toEqual([200, 429, 200])
})

test('Fastify, a hook for a route, by the address from a proxy', async () => {
  const meter = new Meter('ip', { limits })
  const app = fastify({ trustProxy: true })
  onTestFinished(() => app.close())
  const onRequest = policeFastify(meter, { key: (request) => ipKey(request.ip) })
  app.get('/policed', { onRequest }, async () => 'done')
  app.get('/free', async () => 'done')
  const from = async (address: string, url = '/policed') =>
    (await app.inject({ url, headers: { 'x-forwarded-for': address } })).statusCode
  expect([await from('2001:db8:0:1::1'), await from('2001:db8:0:1::2')]).toEqual([200, 429])
  expect([await from('127.0.0.1'), await from('127.0.0.1')]).toEqual([200, 429])
  expect(await from('127.0.0.1', '/free')).toBe(200)
})

test('a server of Node, without a framework', async () => {
  const meter = new Meter('ip', { limits })
  const key = (request: IncomingMessage) => ipKey(request.socket.remoteAddress)
  const police = policeExpress(meter, { key })
  const server = createServer((request, response) => {
    police(request, response, (error) => response.writeHead(error === undefined ? 200 : 500).end())
  })
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = async () => (await fetch(url, { headers: { connection: 'close' } })).status
  expect([await ask(), await ask()]).toEqual([200, 429])
})

test('a request that was answered elsewhere meanwhile is not answered twice', async () => {
  const meter = new Meter('slow', { limits: { '*': '1, 1/h' } })
  const app = express()
  let decide: (key: string) => void = () => undefined
  const decided = new Promise<string>((resolve) => {
    decide = resolve
  })
  let isNext = 0
  app.use((_request, response, next) => {
    next()
    response.status(504).send('late')
    decide('k')
  })
  app.use(policeExpress(meter, { key: () => decided }))
  app.use(() => {
    isNext++
  })
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = async () => (await fetch(url, { headers: { connection: 'close' } })).status
  expect([await ask(), await ask()]).toEqual([504, 504])
  expect((await meter.level('k')).level).toBeCloseTo(1, 3)
  expect(isNext).toBe(1)
})
