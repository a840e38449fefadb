const all = (selector, within = document) => [...within.querySelectorAll(selector)]

// The samples name the address that the page came from, so that they can be pasted.
const base = new URL('.', location.href).href.replace(/\/$/, '')
for (const place of all('.base'))
  place.textContent = place.dataset.quoted === undefined ? base : JSON.stringify(base)

makeTabs()
addCopyButtons()
fitMenu()
markSectionInView()

/** The samples of each request become tabs. Who chooses a language chooses it for all requests. */
function makeTabs() {
  const groups = all('.samples').map(group => {
    const list = document.createElement('div')
    list.className = 'tabs'
    list.role = 'tablist'
    list.ariaLabel = 'Language'
    const tabs = all('.panel', group).map(panel => {
      const tab = document.createElement('button')
      tab.type = 'button'
      tab.role = 'tab'
      tab.textContent = panel.querySelector('summary').textContent
      tab.onclick = () => choose(tab.textContent, tab)
      panel.role = 'tabpanel'
      panel.ariaLabel = tab.textContent
      list.append(tab)
      return { tab, panel }
    })
    list.onkeydown = event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      if (!step) return
      const at = tabs.findIndex(({ tab }) => tab === event.target)
      const { tab } = tabs[(at + step + tabs.length) % tabs.length]
      choose(tab.textContent, tab)
      tab.focus()
    }
    group.prepend(list)
    group.classList.add('tabbed')
    return tabs
  })
  /** The tab that was chosen stays where it is, although samples above it change their height. */
  function choose(language, chosen) {
    const before = chosen?.getBoundingClientRect().top
    for (const { tab, panel } of groups.flat()) {
      const isChosen = tab.textContent === language
      tab.ariaSelected = String(isChosen)
      tab.tabIndex = isChosen ? 0 : -1
      panel.open = isChosen
      panel.hidden = !isChosen
    }
    if (chosen) scrollBy({ top: chosen.getBoundingClientRect().top - before, behavior: 'instant' })
  }
  const [first] = groups.flat()
  if (first) choose(first.tab.textContent)
}

function addCopyButtons() {
  for (const block of all('.block')) {
    const text = block.querySelector('pre')
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.onclick = async () => {
      button.textContent = (await copied(text).catch(() => false)) ? 'Copied' : 'Press Ctrl-C'
      setTimeout(() => (button.textContent = 'Copy'), 2000)
    }
    block.append(button)
  }
}

/** Copies the text of an element, or at least selects it: without HTTPS a page has no clipboard. */
async function copied(element) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(element.textContent)
    return true
  }
  getSelection().selectAllChildren(element)
  return document.execCommand('copy')
}

/** On a narrow screen the menu is closed until it is needed. */
function fitMenu() {
  const menu = document.getElementById('menu')
  const narrow = matchMedia('(max-width: 56rem)')
  const update = () => (menu.open = !narrow.matches)
  narrow.onchange = update
  menu.addEventListener('click', event => {
    if (event.target.closest('a') && narrow.matches) menu.open = false
  })
  update()
}

/** Marks the link to the section that is read, and names it in the closed menu. */
function markSectionInView() {
  const links = new Map(all('nav a[href^="#"]').map(link => [link.hash.slice(1), link]))
  const sections = all('section[id]').filter(({ id }) => links.has(id))
  let marked
  const mark = () => {
    const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2
    const above = sections.filter(section => section.getBoundingClientRect().top < innerHeight / 3)
    const link = links.get((isAtEnd ? sections : above).at(-1)?.id)
    if (link === marked) return
    marked?.removeAttribute('aria-current')
    link?.setAttribute('aria-current', 'true')
    marked = link
    document.getElementById('in-view').textContent = link ? `: ${link.textContent}` : ''
    // Of a wide screen: there the menu scrolls on its own.
    const nav = document.querySelector('nav')
    if (link && nav.scrollHeight > nav.clientHeight) link.scrollIntoView({ block: 'nearest' })
  }
  addEventListener('scroll', mark, { passive: true })
  addEventListener('resize', mark)
  mark()
}
