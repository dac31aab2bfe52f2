import type { Session } from '../../http/wire.ts'
import { ConnectionSign } from './connection-sign.tsx'
import type { View } from './data/page-url.ts'
import { tableView } from './data/route.ts'
import { signOut } from './data/session.ts'
import { theme, turnTheme } from './data/theme.ts'
import { token } from './data/token.ts'
import { useStore } from './parts/hooks.ts'
import { Icon } from './parts/icon.tsx'
import { Link } from './parts/link.tsx'
import { Logo } from './parts/logo.tsx'

interface TopBarProps {
  readonly session: Session
  readonly view: View
}

const LOSSES = {
  memory: 'Jobs are lost when this process ends',
  none: 'Jobs are lost when Redis restarts: it writes no append-only file',
  everysec: 'Jobs of the last second or two are lost if the Redis machine loses power',
  always: 'Jobs are lost only with the disk of Redis',
} as const

/** The name of the shaper, facts about the service, and whether the page is live. */
export function TopBar({ session, view }: TopBarProps) {
  const { shaper, backend, durability, version, name, prefixes } = session
  return (
    <header class="top">
      <Link to={{ name: 'overview', query: { sort: '-fill' } }} class="brand">
        <Logo />
        <span class="brand-name">{shaper}</span>
        <span class="sr-only">, overview</span>
      </Link>
      <nav class="nav" aria-label="Views">
        <Link to={tableView()} isCurrent={view.name === 'overview'}>
          Overview
        </Link>
        <Link to={{ name: 'rules' }} isCurrent={view.name === 'rules'}>
          Rules
        </Link>
      </nav>
      <p class="top-facts">
        <span class="tag" title="Where the lines are stored">
          {backend === 'redis' ? 'Redis' : 'in memory'}
        </span>
        {durability !== undefined && durability !== 'memory' && (
          <span class="tag" title={LOSSES[durability]}>
            fsync {durability}
          </span>
        )}
        <span class="tag is-quiet" title="Version of velvet-rope">
          {version}
        </span>
        {prefixes.length > 0 && (
          <span class="tag" title={`This token has access only to ${prefixes.join(', ')}`}>
            {prefixes.length === 1 ? `${prefixes[0]}/` : `${prefixes.length} prefixes`}
          </span>
        )}
      </p>
      <div class="top-end">
        <ConnectionSign />
        <ThemeButton />
        {token.get() !== '' && (
          <button type="button" class="button is-small" onClick={signOut} title={`Signed in as ${name}`}>
            Sign out
          </button>
        )}
      </div>
    </header>
  )
}

const THEMES = {
  system: { icon: 'system', label: 'Colours: system' },
  light: { icon: 'sun', label: 'Colours: light' },
  dark: { icon: 'moon', label: 'Colours: dark' },
} as const

function ThemeButton() {
  const { icon, label } = THEMES[useStore(theme)]
  return (
    <button type="button" class="button is-bare is-icon" aria-label={label} title={label} onClick={turnTheme}>
      <Icon name={icon} />
    </button>
  )
}
