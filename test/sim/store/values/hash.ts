/** What a field or member costs besides its bytes. */
const OVERHEAD = 24

export class HashValue {
  readonly type = 'hash'
  readonly fields = new Map<string, string>()
  /** About so much memory. */
  bytes = 0

  get size(): number {
    return this.fields.size
  }

  /** Whether the field is new. */
  set(field: string, value: string): boolean {
    const before = this.fields.get(field)
    this.fields.set(field, value)
    this.bytes += before === undefined ? OVERHEAD + field.length + value.length : value.length - before.length
    return before === undefined
  }

  delete(field: string): boolean {
    const before = this.fields.get(field)
    if (before === undefined) return false
    this.fields.delete(field)
    this.bytes -= OVERHEAD + field.length + before.length
    return true
  }

  copy(): HashValue {
    const copy = new HashValue()
    for (const [field, value] of this.fields) copy.fields.set(field, value)
    copy.bytes = this.bytes
    return copy
  }
}

export class SetValue {
  readonly type = 'set'
  readonly members = new Set<string>()
  bytes = 0

  get size(): number {
    return this.members.size
  }

  add(member: string): boolean {
    if (this.members.has(member)) return false
    this.members.add(member)
    this.bytes += OVERHEAD + member.length
    return true
  }

  delete(member: string): boolean {
    if (!this.members.delete(member)) return false
    this.bytes -= OVERHEAD + member.length
    return true
  }

  copy(): SetValue {
    const copy = new SetValue()
    for (const member of this.members) copy.members.add(member)
    copy.bytes = this.bytes
    return copy
  }
}
