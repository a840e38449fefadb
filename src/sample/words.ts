/**
 * The names sample data is made of, and how they combine: people, organizations, products.
 * A list is one string, so that a page of names stays a page.
 */

/** A draw of at least 0 and less than 1. */
type Draw = () => number

/** A name as it is shown, and its Latin letters for an email address. */
type Word = { shown: string; latin: string }

/** How a person is called. `login` is unique only together with a number behind it. */
interface Person {
  name: string
  first: string
  last: string
  login: string
}

/** `Zoë=zoe` is a word whose Latin letters cannot be read off it; a plain one needs no `=`. */
const words = (text: string): Word[] =>
  text.split(',').map(entry => {
    const [shown = '', latin = shown] = entry.trim().split('=')
    return { shown, latin: latin.toLowerCase().replace(/[^a-z]/g, '') }
  })

const FIRST =
  words(`Maria, James, Ana, Michael, Jennifer, David, Linda, Robert, Patricia, John, Elizabeth, William,
  Aisha, Daniel, Grace, Thomas, Olivia, Kevin, Emma, Brian, Sophia, Carlos, Amara, Ethan, Priya, Samuel, Hannah,
  Marcus, Leah, Andre, Naomi, Victor, Ruth, Omar, Claire, Diego, Fatima, Isaac, Keiko, Malik, Nadia, Oscar, Paula,
  Quentin, Rosa, Simon, Tara, Ursula, Vera, Wendy, Yusuf, Mary Ann, Jean-Luc, D'Andre, Anne-Marie, Bo, Billie Jo,
  Xavier, Al, De'Shawn, Carol, Ivan, Joy, Kim`)

const LAST =
  words(`Garcia, Smith, Johnson, Ruiz, Williams, Brown, Jones, Miller, Davis, Martinez, Lopez, Wilson,
  Anderson, Thomas, Taylor, Moore, Jackson, Lee, Thompson, White, Harris, Clark, Lewis, Robinson, Walker, Young,
  Allen, King, Wright, Scott, Torres, Nguyen, Hill, Flores, Green, Adams, Nelson, Baker, Hall, Rivera, Campbell,
  Mitchell, Carter, Roberts, Patel, Kim, Okafor, Singh, Cohen, Schmidt, Rossi, Ivanov, Tanaka, Haddad, Mensah,
  O'Brien, O'Neill, D'Angelo, N'Diaye, Smith-Jones, Garcia-Lopez, Hill-Baker, Van Dyke, De la Cruz, St. Clair,
  Le Blanc, Von Trapp, Mac Donald, Del Rio, Abu Bakr, Ng, Oh, Macdonald, MacDonald, Li`)

// The second José is written with a combining accent (U+0301): equal to the eye, another string to a sort.
const ACCENTED_FIRST =
  words(`Zoë=zoe, Łukasz=lukasz, José=jose, Jose\u0301=jose, Åsa=asa, Renée=renee, Søren=soren,
  Chloë=chloe, Björn=bjorn, Siân=sian, Élodie=elodie, Ramón=ramon, Đorđe=dorde, İpek=ipek, Noémie=noemie, Iñaki=inaki`)

const ACCENTED_LAST =
  words(`Nguyễn=nguyen, Ångström=angstrom, O’Brien=obrien, Müller-Öz=mulleroz, García=garcia,
  Núñez=nunez, Strauß=strauss, Çelik=celik, Dvořák=dvorak, Wałęsa=walesa, Þórsson=thorsson, L’Écuyer=lecuyer,
  de la Peña=delapena, Ólafsdóttir=olafsdottir, Yıldız=yildiz, Sørensen=sorensen`)

const ARABIC_FIRST = words('أمل=amal, يوسف=yusuf, فاطمة=fatima, عمر=omar')
const ARABIC_LAST = words('حداد=haddad, الخطيب=alkhatib, منصور=mansour')
const CYRILLIC_FIRST = words('Ольга=olga, Дмитрий=dmitry, Олександра=oleksandra')
const CYRILLIC_LAST = words('Шевченко=shevchenko, Ковальчук=kovalchuk, Соколова=sokolova')
const GREEK_FIRST = words('Ελένη=eleni, Γιώργος=giorgos')
const GREEK_LAST = words('Παπαδόπουλος=papadopoulos, Σταύρου=stavrou')
// 𠮷 lies outside the basic plane: two UTF-16 units, and elsewhere in order by code point than by unit.
const EAST_ASIAN_FIRST = words('伟=wei, 美玲=meiling, 花子=hanako, 지우=jiwoo')
const EAST_ASIAN_LAST = words('李=li, 王=wang, 𠮷田=yoshida, 김=kim')

type Pairing = [firsts: Word[], lasts: Word[]]

/** Each is as likely as the other: about one educator in a hundred. */
const UNUSUAL: Pairing[] = [
  [ACCENTED_FIRST, LAST],
  [ACCENTED_FIRST, LAST],
  [FIRST, ACCENTED_LAST],
  [FIRST, ACCENTED_LAST],
  [FIRST, ACCENTED_LAST],
  [ACCENTED_FIRST, ACCENTED_LAST],
  [ACCENTED_FIRST, ACCENTED_LAST],
  [ARABIC_FIRST, ARABIC_LAST],
  [CYRILLIC_FIRST, CYRILLIC_LAST],
  [GREEK_FIRST, GREEK_LAST],
  [EAST_ASIAN_FIRST, EAST_ASIAN_LAST],
  [FIRST, EAST_ASIAN_LAST],
]
const UNUSUAL_SHARE = 0.12

/** The front of a list comes up more often than its end, as with real names: namesakes are common. */
const pick = (list: Word[], draw: Draw): Word => {
  const at = draw()
  return list[Math.floor(((at + at * at) / 2) * list.length)] ?? { shown: 'Ana', latin: 'ana' }
}

/** A person; the display name is not always first name, space, last name, and may hold quotes. */
export function person(draw: Draw): Person {
  const roll = draw() / UNUSUAL_SHARE
  const [firsts, lasts] = UNUSUAL[Math.floor(roll * UNUSUAL.length)] ?? [FIRST, LAST]
  const first = pick(firsts, draw)
  const last = pick(lasts, draw)
  return {
    name: displayName(first.shown, last.shown, firsts === EAST_ASIAN_FIRST, draw),
    first: first.shown,
    last: last.shown,
    login: `${first.latin}.${last.latin}`,
  }
}

function displayName(first: string, last: string, familyFirst: boolean, draw: Draw): string {
  if (familyFirst) return `${last}${first}`
  const style = draw()
  if (style < 0.12) return `${first} ${'ABCDEFGHJKLMNPRSTVW'.charAt(Math.floor(draw() * 19))}. ${last}`
  if (style < 0.13) return `${first} "Coach" ${last}`
  if (style < 0.14) return `${first} ${last} Jr.`
  return `${first} ${last}`
}

const PLACES =
  words(`Lakeside, Oak Valley, Riverton, Cedar Hills, Fairview, Lincoln, Washington, St. Mary's, Pine Ridge,
  Cañon City, Brookfield, Harbor Point, Maplewood, Summit, Westfield, Franklin, Greenville, Clearwater, O'Fallon,
  Prairie View, Stonebridge, Coeur d’Alene, Eagle Rock, Mill Creek, Northgate, Sunnyside, Willow Springs, La Cañada,
  Ashland, Bayview, Crestwood, Dry Fork, Elm Grove, Foxborough, Glen Ellyn, Highland, Iron Mountain, Jasper, Kingston,
  Long Branch, Monte Vista, New Haven`)

const KINDS =
  words(`District, Unified School District, Public Schools, County Schools, Independent School District,
  Elementary School, Middle School, High School, Academy, Charter School, Joint School District No. 4,
  Regional Office of Education`)

/** The name of the organization at an index; no two of the first 500 are the same. */
export function organizationName(index: number): string {
  const place = PLACES[index % PLACES.length]
  const kind = KINDS[(index + Math.floor(index / PLACES.length)) % KINDS.length]
  return `${place?.shown} ${kind?.shown}`
}

// `%`, `_`, quotes and letters beyond ASCII are here because a search has to take them literally.
const PRODUCTS = `Reading Observation; Math Observation; Classroom Practice: Lesson Plan, Teaching, Reflection;
  Science of Reading; Teaching Certificate: Written Test, Practical Test; Writing Observation; Early Childhood Screening;
  Literacy Coach: Part 1, Part 2; Number Sense Interview; Phonics Screener; Special Education: Case Study, Interview;
  Running Records; Classroom Management; CPR & First Aid: Theory, Compressions, Airway; School Safety 100%;
  Physical Education: Theory, Skills; Art Portfolio; Music Performance: Aural Test, Recital; Chemistry Lab Safety;
  Español Oral: Comprensión, Conversación; English Learner Interview; Principal Practice: Part 1, Part 2, Part 3, Part 4;
  Data Literacy; Digital Skills_2; Bus Driver Fitness: Vision, Hearing, Driving; "Look Fors" Walkthrough;
  Mentor Teacher; Algebra Readiness: Mental Math, Written Test; Kindergarten Entry; Dyslexia Screening Fidelity;
  Trauma-Informed Care: Part 1, Part 2; Speech Sample; History Inquiry; Debate Judge: Ethics, Practice; Mathematics, K–2;
  Substitute Teacher; Drama Direction: Concept, Rehearsal, Performance; Library Media; Reading Observation (2023 revision);
  Counselor Practice: Part 1, Part 2`

/** All products, the most popular first; one with separately proctored parts names them. */
export function productWords(): { name: string; parts: string[] }[] {
  return PRODUCTS.split(';').map(entry => {
    const [name = '', parts] = entry.trim().split(': ')
    return { name, parts: parts?.split(', ') ?? [] }
  })
}
