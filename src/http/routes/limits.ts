import { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { quote } from '../../core/describe.ts'
import { checkKey } from '../../core/key.ts'
import { isWithin } from '../access.ts'
import { readRequest } from '../body.ts'
import { removalQuerySchema, removeAside, setAside, settingQuerySchema } from '../limit-asides.ts'
import { jsonContent, textHeader } from '../operation.ts'
import { Problem } from '../problem.ts'
import { readQuery } from '../query.ts'
import { newLimitSchema } from '../request-schemas.ts'
import type { House, HttpEnv, ParameterObject, Route } from '../route.ts'
import { localRuleSchema, previewSchema, ruleBookSchema, ruleSchema } from '../view-schemas.ts'

const ETAG = { ETag: textHeader('The version of the rule book, for `If-Match`.') }

export function limitRoutes(house: House): Route[] {
  const { shaper } = house
  const { limits } = shaper
  return [
    {
      method: 'get',
      path: '/v1/limits',
      scope: 'read',
      summary:
        'The rule book: every rule, where it comes from, who set it and when; and the limits of this process alone',
      answers: {
        200: {
          description: 'The rules.',
          headers: ETAG,
          ...jsonContent(ruleBookSchema),
        },
      },
      problems: [],
      answer: ({ context, principal }) => {
        const { version } = limits
        const isSeen = ({ pattern }: { readonly pattern: string }) => isWithin(principal.prefixes, pattern)
        const book = {
          version,
          limits: limits.list().filter(isSeen),
          unset: limits.unsetByHand().filter(isSeen),
          local: limits.locals().filter(isSeen),
        }
        return context.json(book, 200, { ETag: etagOf(version) })
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
      summary:
        'Set a limit by hand, which reaches the jobs that wait as well; or see what that would do; or limit this process',
      request: {
        query: settingQuerySchema,
        body: { required: true, ...jsonContent(newLimitSchema) },
      },
      parameters: [IF_MATCH],
      answers: {
        200: {
          description: 'The rule; with dryRun=true what it would do; with scope=local that of this process.',
          ...jsonContent(z.union([ruleSchema, previewSchema, localRuleSchema])),
        },
      },
      problems: ['rule-book-changed'],
      answer: async (call) => {
        const { context, principal, subject } = call
        checkKey(subject, 'pattern')
        const ifVersion = readIfMatch(context)
        const { limit } = await readRequest(house, call, newLimitSchema)
        const aside = await setAside(house, call, limit, ifVersion)
        if (aside !== undefined) return aside
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
      answers: {
        200: {
          description: 'With dryRun=true: what the removal would do.',
          ...jsonContent(previewSchema),
        },
        204: { description: 'Removed.' },
      },
      problems: ['not-found', 'rule-book-changed'],
      answer: async (call) => {
        const { context, principal, subject } = call
        const ifVersion = readIfMatch(context)
        const aside = await removeAside(house, call, ifVersion)
        if (aside !== undefined) return aside
        const { override } = readQuery(context.req.url, removalQuerySchema, [])
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

/** The tag of a version of the rule book, for `ETag` and `If-Match` (RFC 9110). */
export function etagOf(version: number): string {
  return `"${version}"`
}

export const IF_MATCH: ParameterObject = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The ETag of the rule book that the change is meant for, such as `"7"`; `*`, like none: whichever is in force.',
  schema: { type: 'string', maxLength: 64 },
}

/**
 * The version that a change is meant for; undefined: whichever is in force. A proxy that compresses makes the tag a weak one, which names
 * the same version.
 *
 * @throws Problem 400
 */
export function readIfMatch({ req }: Context<HttpEnv>): number | undefined {
  const header = req.header('If-Match')
  if (header === undefined || header.trim() === '*') return undefined
  const [, digits] = /^\s*(?:W\/)?"(\d{1,15})"\s*$/.exec(header) ?? []
  if (digits !== undefined) return Number(digits)
  throw new Problem('bad-request', {
    detail: 'expected If-Match to be the ETag of the rule book, such as "7", or *',
  })
}
