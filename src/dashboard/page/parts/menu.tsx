import type { TargetedKeyboardEvent } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

export interface MenuItem {
  readonly icon: IconName
  readonly text: string
  readonly act: () => void
}

interface MenuProps {
  readonly label: string
  readonly items: readonly MenuItem[]
}

const GAP = 4

/** A button that opens a menu of actions; the arrow keys move through it. */
export function Menu({ label, items }: MenuProps) {
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const place = () => {
    const from = button.current!.getBoundingClientRect()
    const box = list.current!
    const below = from.bottom + GAP
    const isRoom = below + box.offsetHeight < innerHeight
    box.style.top = `${isRoom ? below : from.top - GAP - box.offsetHeight}px`
    box.style.left = `${Math.max(GAP, from.right - box.offsetWidth)}px`
    box.querySelector<HTMLButtonElement>('button')?.focus()
  }
  const walk = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const all = [...list.current!.querySelectorAll<HTMLButtonElement>('button')]
    const at = all.indexOf(document.activeElement as HTMLButtonElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key]
    if (event.key === 'Tab') list.current!.hidePopover()
    if (to === undefined) return
    event.preventDefault()
    event.stopPropagation()
    all.at(to % all.length)?.focus()
  }
  const choose = (item: MenuItem) => {
    list.current!.hidePopover()
    item.act()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class="button is-bare is-icon"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popovertarget={id}
      >
        <Icon name="more" />
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        class="menu"
        onToggle={(event) => {
          const opens = event.newState === 'open'
          setOpen(opens)
          if (opens) place()
        }}
        onKeyDown={walk}
      >
        {items.map((item) => (
          <button key={item.text} type="button" role="menuitem" tabIndex={-1} onClick={() => choose(item)}>
            <Icon name={item.icon} />
            {item.text}
          </button>
        ))}
      </div>
    </>
  )
}
