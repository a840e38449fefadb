/** A pattern with the replacements of the code that it finds. A function makes a replacement from the found code. */
export type Rule = [pattern: RegExp, ...after: (string | ((found: string) => string))[]]

/** The number plus one. */
export const more = (number: string) => String(Number(number) + 1)
const less = (number: string) => String(Number(number) - 1)

/**
 * Replacements of operators, bounds, directions, conditions and clauses. Comments and contents of strings are blanked
 * out.
 */
export const RULES: Rule[] = [
  [/(?<![<>=!:|~])=(?![=>])/g, '<>'],
  [/<>/g, '='],
  [/<=/g, '<'],
  [/(?<![-=])>=/g, '>'],
  [/<(?![=>@-])/g, '<='],
  [/(?<![-<=>])>(?![=>])/g, '>='],
  [/&&/g, '@>'],
  [/(?<=\s)-(?=\s)/g, '+'],
  [/(?<=\s)\+(?=\s)/g, '-'],
  [/(?<![\w.$%])\d+(?![\w.])/g, more, less],
  [/\basc\b/g, 'desc'],
  [/\bdesc\b/g, 'asc'],
  [/\band\b/g, 'or'],
  [/\bor\b(?! replace| insert| update| delete| truncate)/g, 'and'],
  [/\bis not null\b/g, 'is null'],
  [/\bis null\b/g, 'is not null'],
  [/\bis not distinct from\b/g, 'is distinct from'],
  [/\bis distinct from\b/g, 'is not distinct from'],
  [/(?<!\bif )\bnot exists\b/g, 'exists'],
  [/(?<!\bnot )\bexists \(/g, 'not exists ('],
  [/\bleft join\b/g, 'join'],
  [/(?<!left |cross )\bjoin\b/g, 'left join'],
  [/\bunion all\b/g, 'union'],
  [/\bunion\b(?! all)/g, 'union all', 'intersect'],
  [/\bexcept\b/g, 'intersect'],
  [/\bintersect\b/g, 'except'],
  [/\bdistinct (?!from)/g, ''],
  [/\bmax(?=\()/g, 'min'],
  [/\bmin(?=\()/g, 'max'],
  [/\bgreatest(?=\()/g, 'least'],
  [/\bleast(?=\()/g, 'greatest'],
  [/\btrue\b/g, 'false'],
  [/\bfalse\b/g, 'true'],
  [/ at time zone [\w.]+/g, ''],
  [/ collate "[\w-]+"/g, ''],
  [/\border by [\w.]+(?: asc| desc)?(?:, [\w.]+(?: asc| desc)?)*/g, ''],
  [/\blimit \d+/g, ''],
  [/(?<!is )\bnot null\b/g, ''],
  [/ unique\b/g, ''],
  [/ default (?:\w+\(\)|[^\s,)]+)/g, ''],
  [/ deferrable initially immediate\b/g, ''],
  [/ on delete cascade\b/g, ''],
  [/ strict\b/g, ''],
  [/ security definer\b/g, ''],
  [/ set search_path from current\b/g, ''],
  [/\bbefore (?=insert|update|delete)/g, 'after '],
  [/\bafter (?=insert|update|delete|truncate)/g, 'before '],
  [
    /^ *(?:perform|raise|delete from|insert into|update|revoke|return|select lock|select refresh)\b[^;]*;/gm,
    '',
  ],
]
