import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { RulePreview, RuleView } from '../../core/rule-view.ts'
import type { PreviewedChange } from '../../line/preview-change.ts'
import type { ResetOptions } from '../../line/rule-options.ts'
import type { RuleList } from '../api/replies.ts'
import { openExistingLine } from '../existing-line.ts'
import { type LineFlags, openService } from '../line-flags.ts'

/** The rule book of a running line, of a service or in Redis. */
export interface RuleBookPort {
  list(): Promise<RuleList>
  set(pattern: string, limit: string, options: ResetOptions): Promise<RuleView>
  /** Returns false when there was none; so does `reset`. */
  unset(pattern: string, options: ResetOptions): Promise<boolean>
  reset(pattern: string, options: ResetOptions): Promise<boolean>
  preview(change: PreviewedChange): Promise<RulePreview>
  close(): Promise<void>
}

/** Opens the rule book of a service, or of a line in Redis. */
export async function openBook(flags: LineFlags, command: Command): Promise<RuleBookPort> {
  const service = openService(flags, command)
  if (service !== undefined) {
    return {
      list: () => service.limits(),
      set: (pattern, limit, options) => service.setLimit(pattern, limit, options),
      unset: (pattern, options) => service.unsetLimit(pattern, options),
      reset: (pattern, options) => service.resetLimit(pattern, options),
      preview: (change) => service.previewLimit(change),
      close: () => service.close(),
    }
  }
  const shaper = await openExistingLine(flags)
  await shaper.ready()
  const by = userName()
  return {
    list: async () => {
      const { limits } = shaper
      return { version: limits.version, limits: limits.list(), unset: limits.unsetByHand() }
    },
    set: (pattern, limit, options) => shaper.limits.set(pattern, limit, { by, ...options }),
    unset: (pattern, options) => shaper.limits.unset(pattern, { by, ...options }),
    reset: (pattern, options) => shaper.limits.reset(pattern, options),
    preview: (change) => shaper.limits.preview(change),
    close: () => shaper.close(),
  }
}

/** The name of the user; in a container there may be none. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'command line'
  }
}
