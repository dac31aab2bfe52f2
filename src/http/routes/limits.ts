import { z } from '@hono/zod-openapi'
import { quote } from '../../core/describe.ts'
import { checkKey } from '../../core/key.ts'
import { isWithin } from '../access.ts'
import { etagOf, IF_MATCH, readIfMatch } from '../if-match.ts'
import { jsonContent, textHeader } from '../operation.ts'
import { Problem } from '../problem.ts'
import { readQuery } from '../query.ts'
import { readRequest } from '../request-body.ts'
import type { House, Route } from '../route.ts'
import { newLimitSchema, ruleSchema, rulesSchema } from '../schemas.ts'

const removalQuerySchema = z.strictObject({
  /** `only`: what was set or unset by hand goes, and what the layers below say is in force again. */
  override: z.literal('only').optional(),
})

const ETAG = { ETag: textHeader('The version of the rule book, for `If-Match`.') }

const FIELDS = ['limit', 'capacity', 'rate', 'tolerance', 'warmUp', 'coldRate', 'count', 'per']

export function limitRoutes(house: House): Route[] {
  const { shaper } = house
  const { limits } = shaper
  return [
    {
      method: 'get',
      path: '/v1/limits',
      scope: 'read',
      summary: 'The rule book: every rule, where it comes from, who set it and when',
      answers: {
        200: { description: 'The rules.', headers: ETAG, ...jsonContent(rulesSchema) },
      },
      problems: [],
      answer: ({ context, principal }) => {
        const { version } = limits
        const seen = limits.list().filter(({ pattern }) => isWithin(principal.prefixes, pattern))
        return context.json({ version, limits: seen }, 200, { ETag: etagOf(version) })
      },
    },
    {
      method: 'get',
      path: '/v1/limits/{pattern}',
      scope: 'read',
      summary: 'The rule of a pattern',
      answers: { 200: { description: 'The rule.', headers: ETAG, ...jsonContent(ruleSchema) } },
      problems: ['not-found'],
      answer: ({ context, subject }) => {
        const { version } = limits
        const rule = limits.list().find(({ pattern }) => pattern === subject)
        if (rule === undefined) throw noRule(subject)
        return context.json(rule, 200, { ETag: etagOf(version) })
      },
    },
    {
      method: 'put',
      path: '/v1/limits/{pattern}',
      scope: 'admin',
      summary: 'Set a limit by hand; it reaches the jobs that wait as well',
      request: { body: { required: true, ...jsonContent(newLimitSchema) } },
      parameters: [IF_MATCH],
      answers: { 200: { description: 'The rule.', ...jsonContent(ruleSchema) } },
      problems: ['rule-book-changed'],
      answer: async ({ context, principal, subject }) => {
        checkKey(subject, 'pattern')
        const ifVersion = readIfMatch(context)
        const { limit } = await readRequest(house, { context }, newLimitSchema, { names: FIELDS })
        return context.json(await limits.set(subject, limit, { by: principal.name, ifVersion }))
      },
    },
    {
      method: 'delete',
      path: '/v1/limits/{pattern}',
      scope: 'admin',
      summary:
        'Remove the limit of a pattern, whatever code or file say; or, with override=only, have their say again',
      request: { query: removalQuerySchema },
      parameters: [IF_MATCH],
      answers: { 204: { description: 'Removed.' } },
      problems: ['not-found', 'rule-book-changed'],
      answer: async ({ context, principal, subject }) => {
        const { override } = readQuery(context.req.url, removalQuerySchema, [])
        const ifVersion = readIfMatch(context)
        const isGone =
          override === 'only'
            ? await limits.reset(subject, { ifVersion })
            : await limits.unset(subject, { by: principal.name, ifVersion })
        if (isGone) return context.body(null, 204)
        throw override === 'only' ? notByHand(subject) : noRule(subject)
      },
    },
  ]
}

function noRule(pattern: string): Problem {
  return new Problem('not-found', { detail: `no rule has the pattern ${quote(pattern)}` })
}

function notByHand(pattern: string): Problem {
  return new Problem('not-found', { detail: `nothing was set by hand for the pattern ${quote(pattern)}` })
}
