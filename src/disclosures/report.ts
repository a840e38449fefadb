import { filled, Html, html } from '../html.ts'
import type { PersonalReport } from './personal.ts'
import style from './report.css' with { type: 'text' }
import page from './report.html.txt' with { type: 'text' }

/** One printable page of HTML for the person who asked. It loads nothing, and names no other person. */
export function personalPage(report: PersonalReport): string {
  return filled(page, {
    title: 'Record of disclosures',
    // Not of the data: it is not escaped.
    style: new Html(style),
    person: personFields(report).map(([label, text]) => html`<dt>${label}</dt><dd>${text}</dd>`),
    recipients: recipients(report),
    records: records(report),
    limits: limits(report).map(text => html`<li>${text}</li>`),
  }).text
}

function personFields({ userId, person, madeAt, timeZone, period }: PersonalReport): [string, string][] {
  const fields: [string, string | null | undefined][] = [
    ['For', person?.name ?? 'a person who is not in the data'],
    ['Email', person?.email],
    ['State Educator ID', person?.seid],
    ['User ID', userId],
    ['Made', `${local(madeAt, timeZone)} (${timeZone})`],
    ['Asked about', period],
  ]
  return fields.filter((field): field is [string, string] => Boolean(field[1]))
}

function recipients({ shown, timeZone }: PersonalReport): Html {
  if (shown.length === 0) return html`<p>The record has no answer that showed a record of yours.</p>`
  const rows = shown.map(
    ({ name, purpose, times, first, last }) =>
      html`<tr><td>${name}</td><td>${purpose ?? 'not stated'}</td><td class="number">${times}</td>
<td class="day">${local(first, timeZone)}</td><td class="day">${local(last, timeZone)}</td></tr>
`,
  )
  return html`<table>
<thead><tr><th>Recipient</th><th>Purpose</th><th class="number">Answers</th><th>First</th><th>Last</th></tr></thead>
<tbody>
${rows}</tbody>
</table>
<p>A recipient is a program of an organization. It is named with the name and the purpose that it had at the time. An
answer is one page or one record that the program fetched; it may have shown several of your records.</p>`
}

function records({ assessments }: PersonalReport): Html {
  if (assessments.length === 0) return html`<p>Today there is no record of yours.</p>`
  const rows = assessments.map(
    ({ id, name, organization, certifiedOn }) =>
      html`<tr><td class="day">${certifiedOn}</td><td>${name}</td><td>${organization}</td><td class="number">${id}</td></tr>
`,
  )
  return html`<p>These are your records today. Earlier answers may have shown others, which were changed or removed since.</p>
<table>
<thead><tr><th>Completed</th><th>Assessment</th><th>Organization</th><th class="number">ID</th></tr></thead>
<tbody>
${rows}</tbody>
</table>`
}

function limits({ begins, isRecording, person, timeZone }: PersonalReport): string[] {
  const proctored = person?.proctored ?? 0
  return [
    begins === null
      ? 'Nothing was recorded yet. What was sent until now is not known.'
      : `The oldest answer that is recorded is of ${local(begins, timeZone)}. What was sent before is not known.`,
    ...(isRecording ? [] : ['Answers are not recorded at present. What is sent meanwhile is not known.']),
    'What was sent while answers were not recorded, if there was such a time, is not known.',
    'An answer is recorded before it is sent. Whether it arrived, and what the recipient did with it, is not known.',
    proctored === 0
      ? 'The record has whose assessments were shown. It does not have who was named in them as a proctor.'
      : `You are named as the proctor of other people's assessments (${proctored} today). ` +
        'The record does not have who was named as a proctor, so these answers are not listed above.',
  ]
}

/** An instant as day and time in a time zone; in UTC if this program does not know the zone. */
function local(instant: string, timeZone: string): string {
  const form = { dateStyle: 'short', timeStyle: 'short' } as const
  try {
    // The Swedish form is that of ISO 8601.
    return new Intl.DateTimeFormat('sv-SE', { ...form, timeZone }).format(new Date(instant))
  } catch {
    return instant
  }
}
