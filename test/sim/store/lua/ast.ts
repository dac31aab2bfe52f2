/** The syntax tree of a script, with names resolved to locals and globals. */

export interface Local {
  readonly name: string
  readonly id: number
  readonly depth: number
  /** Assigned to after its declaration. */
  isAssigned: boolean
  /** Used in a function inside the one that declares it. */
  isCaptured: boolean
  /** Declared by `local function`. */
  isFunction: boolean
}

export type Expression = (
  | { readonly type: 'nil' | 'true' | 'false' | 'varargs' }
  | { readonly type: 'number'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'local'; readonly local: Local; readonly isUpvalue: boolean }
  | { readonly type: 'global'; readonly name: string }
  | { readonly type: 'index'; readonly object: Expression; readonly key: Expression }
  | { readonly type: 'call'; readonly callee: Expression; readonly args: readonly Expression[] }
  | {
      readonly type: 'method'
      readonly object: Expression
      readonly name: string
      readonly args: readonly Expression[]
    }
  | { readonly type: 'function'; readonly body: FunctionBody }
  | {
      readonly type: 'binary'
      readonly operator: string
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly type: 'unary'; readonly operator: string; readonly operand: Expression }
  | { readonly type: 'parentheses'; readonly inner: Expression }
  | { readonly type: 'table'; readonly fields: readonly Field[] }
) & { readonly line: number }

export type ExpressionOf<Type extends Expression['type']> = Extract<Expression, { type: Type }>

/** Without a key: the next of the list. */
export interface Field {
  readonly key: Expression | undefined
  readonly value: Expression
}

export interface FunctionBody {
  readonly parameters: readonly Local[]
  readonly isVariadic: boolean
  readonly block: Block
}

export type Block = readonly Statement[]

export type Statement = (
  | { readonly type: 'local'; readonly locals: readonly Local[]; readonly values: readonly Expression[] }
  | { readonly type: 'local-function'; readonly local: Local; readonly body: FunctionBody }
  | {
      readonly type: 'assign'
      readonly targets: readonly Expression[]
      readonly values: readonly Expression[]
    }
  | { readonly type: 'call'; readonly call: Expression }
  | { readonly type: 'do'; readonly block: Block }
  | { readonly type: 'while'; readonly condition: Expression; readonly block: Block }
  | { readonly type: 'repeat'; readonly condition: Expression; readonly block: Block }
  | {
      readonly type: 'if'
      readonly branches: readonly { readonly condition: Expression; readonly block: Block }[]
      readonly otherwise: Block | undefined
    }
  | {
      readonly type: 'for'
      readonly local: Local
      readonly from: Expression
      readonly to: Expression
      readonly step: Expression | undefined
      readonly block: Block
    }
  | {
      readonly type: 'for-in'
      readonly locals: readonly Local[]
      readonly values: readonly Expression[]
      readonly block: Block
    }
  | { readonly type: 'return'; readonly values: readonly Expression[] }
  | { readonly type: 'break' }
) & { readonly line: number }
