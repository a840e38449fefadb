/** The numbers of the rules of docs/contract.md, in their order. */
export const RULES = [
  ...(['S1', 'S2', 'S3', 'S4'] as const),
  ...(['R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7'] as const),
  ...(['T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T7', 'T8', 'T9'] as const),
  ...(['A1', 'A2', 'A3', 'A4', 'A5'] as const),
  ...(['L1', 'L2', 'L3', 'L4', 'L5', 'L6', 'L7', 'L8', 'L9', 'L10'] as const),
  ...([
    'F1',
    'F2',
    'F3',
    'F4',
    'F5',
    'F6',
    'F7',
    'F8',
    'F9',
    'F10',
    'F11',
    'F12',
    'F13',
    'F14',
    'F15',
    'F16',
    'F17',
  ] as const),
  ...(['G1', 'G2', 'G3', 'G4', 'G5'] as const),
]

/** The number of a rule. */
export type Rule = (typeof RULES)[number]

/** The title of a test or of a group of tests, followed by the rules of docs/contract.md that it holds. */
export const rule = (title: string, ...rules: [Rule, ...Rule[]]) => `${title} [${rules.join(', ')}]`
