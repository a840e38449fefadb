// The samples name the address that the page came from, so that they can be pasted.
const base = new URL('.', location.href).href.replace(/\/$/, '')

for (const sample of document.querySelectorAll('.sample'))
  sample.textContent = sample.textContent.replaceAll('BASE_URL', base)
