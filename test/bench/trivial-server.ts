// Answers everything with the same bytes: what is left is what the load itself costs.
const body = Buffer.alloc(Number(Bun.argv[2]), 'x')
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(body) })
console.log(server.url.href)
