import { Component, type ComponentChildren } from 'preact'

/** A component that renders again only when one of its properties changes. */
export abstract class Memo<Props extends object> extends Component<Props> {
  override shouldComponentUpdate(next: Readonly<Props>): boolean {
    const now: Readonly<Props> = this.props
    const names = Object.keys({ ...now, ...next }) as (keyof Props)[]
    return names.some((name) => !Object.is(now[name], next[name]))
  }

  abstract override render(): ComponentChildren
}
