import { useStore } from '../parts/hooks.ts'
import { action, endAction } from './action.ts'
import { FreezeDialog } from './freeze-dialog.tsx'
import { HoldDialog } from './hold-dialog.tsx'
import { LimitDialog } from './limit-dialog.tsx'
import { RemovalDialog } from './removal-dialog.tsx'

/** The dialog of the current action, if any. */
export function ActionHost() {
  const open = useStore(action)
  if (open === undefined) return null
  switch (open.kind) {
    case 'freeze':
      return <FreezeDialog bucket={open.key} onClose={endAction} />
    case 'unfreeze':
    case 'pause':
    case 'resume':
      return <HoldDialog verb={open.kind} bucket={open.key} onClose={endAction} />
    case 'limit':
      return <LimitDialog bucket={open.key} pattern={open.pattern} limit={open.limit} onClose={endAction} />
    default:
      return <RemovalDialog kind={open.kind} pattern={open.pattern} onClose={endAction} />
  }
}
