import type { Node } from 'typescript/unstable/ast'

/** What the nodes at hand have, each of them some of it. */
export interface Parts {
  left: Node
  right: Node
  operatorToken: Node
  expression: Node
  operand: Node
  name: Node
  tag: Node
  thenStatement: Node
  elseStatement?: Node
  whenTrue: Node
  whenFalse: Node
  elements: readonly Node[]
  text: string
}

/** A node as one that has them. */
export const partsOf = (node: Node) => node as unknown as Parts
/** Where a node begins, behind the space and the comments before it. */
export const startOf = (node: Node) => node.getStart()
/** Where it begins and ends. */
export const rangeOf = (node: Node) => ({ start: startOf(node), end: node.end })
