import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { type Context, Hono } from 'hono'
import { onTestFinished } from 'vitest'
import {
  type Meter,
  type PoliceOptions,
  policeExpress,
  policeFastify,
  policeHono,
} from '../../../src/meter.ts'

/** What was answered, in the words of all frameworks. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** What of a request the tests make keys and amounts of, whatever the framework. */
export interface Asked {
  readonly header: (name: string) => string | undefined
}

/** An app that polices `GET /` and counts how often the route behind was run. */
export interface Policed {
  readonly ask: (headers?: Readonly<Record<string, string>>) => Promise<Answer>
  /** How often the route was run. */
  readonly runs: () => number
  /** What its error handler was given. */
  readonly errors: readonly unknown[]
}

/** One policer or several, each with its meter, in their order. */
export type Policers = readonly (readonly [Meter, PoliceOptions<Asked>])[]

/** The same options for requests of another kind. */
function translate<Request>(
  { key, amount, costs, ...rest }: PoliceOptions<Asked>,
  read: (request: Request) => Asked,
): PoliceOptions<Request> {
  return {
    ...rest,
    key: (request) => key(read(request)),
    ...(amount && { amount: (request: Request) => amount(read(request)) }),
    ...(costs && { costs: (request: Request) => costs(read(request)) }),
  }
}

function headerOf({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): Asked {
  return { header: (name) => headers[name] as string | undefined }
}

function onHono(policers: Policers): Policed {
  const app = new Hono()
  const errors: unknown[] = []
  let runs = 0
  for (const [meter, options] of policers) {
    app.use(
      policeHono(
        meter,
        translate(options, ({ req }: Context) => ({ header: (name) => req.header(name) })),
      ),
    )
  }
  app.onError((error, context) => {
    errors.push(error)
    return context.text('failed', 500)
  })
  app.get('/', () => {
    runs++
    return new Response('done')
  })
  const ask = async (headers = {}) => answerOf(await app.request('/', { headers }))
  return { ask, runs: () => runs, errors }
}

async function onExpress(policers: Policers): Promise<Policed> {
  const app = express()
  const errors: unknown[] = []
  let runs = 0
  for (const [meter, options] of policers) app.use(policeExpress(meter, translate(options, headerOf)))
  app.get('/', (_request, response) => {
    runs++
    response.type('text').send('done')
  })
  app.use(((error: unknown, _request, response, _next) => {
    errors.push(error)
    response.status(500).send('failed')
  }) satisfies express.ErrorRequestHandler)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { ask: async (headers = {}) => answerOf(await fetch(url, { headers })), runs: () => runs, errors }
}

async function onFastify(policers: Policers, hook: 'onRequest' | 'preHandler'): Promise<Policed> {
  const app = fastify()
  const errors: unknown[] = []
  let runs = 0
  for (const [meter, options] of policers)
    app.addHook(hook, policeFastify(meter, translate(options, headerOf)))
  app.setErrorHandler((error, _request, reply) => {
    errors.push(error)
    return reply.code(500).send('failed')
  })
  app.get('/', async () => {
    runs++
    return 'done'
  })
  await app.ready()
  onTestFinished(() => app.close())
  const ask = async (headers = {}) => {
    const answer = await app.inject({ url: '/', headers })
    const fields = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const)
    return {
      status: answer.statusCode,
      headers: new Headers(fields.map((field) => [...field])),
      body: answer.body,
    }
  }
  return { ask, runs: () => runs, errors }
}

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: await response.text() }
}

export const FRAMEWORKS: readonly (readonly [string, (policers: Policers) => Policed | Promise<Policed>])[] =
  [
    ['Hono', onHono],
    ['Express', onExpress],
    ['Fastify, onRequest', (policers) => onFastify(policers, 'onRequest')],
    ['Fastify, preHandler', (policers) => onFastify(policers, 'preHandler')],
  ]
