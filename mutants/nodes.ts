import type { Node } from 'typescript/unstable/ast'

/** The properties of nodes that mutants use. Each kind of node has some of them. */
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

/** A node with the type of these properties. */
export const partsOf = (node: Node) => node as unknown as Parts
/** The offset at which a node begins, after space and comments. */
export const startOf = (node: Node) => node.getStart()
/** The offsets at which a node begins and ends. */
export const rangeOf = (node: Node) => ({ start: startOf(node), end: node.end })
