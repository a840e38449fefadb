# A client with Ruby's oauth2. task.ts describes its environment and its output.
require 'json'
require 'oauth2'

JOB = ENV.fetch('JOB')
STYLES = { 'client_secret_basic' => :basic_auth, 'client_secret_post' => :request_body }.freeze

client = OAuth2::Client.new(
  ENV.fetch('CLIENT_ID'),
  ENV.fetch('CLIENT_SECRET'),
  site: ENV.fetch('BASE_URL'),
  token_url: '/oauth/token',
  auth_scheme: STYLES.fetch(ENV.fetch('STYLE'))
)
seen = { ids: [] }

refusal = lambda do |error|
  {
    kind: error.class.name,
    status: error.response.status,
    error: error.code,
    description: error.description,
    challenge: error.response.headers['www-authenticate']
  }
end

fresh_token = lambda do
  token = client.client_credentials.get_token
  seen[:lifetime] = token.expires_at - Time.now.to_f
  token
end

walk = lambda do
  token = fresh_token.call
  offset = 0
  while offset.zero? || offset < seen[:count]
    begin
      parameters = { page: 100, offset: offset, sort: 'certified_on' }
      page = token.get('/api/v1/ax/assessments', params: parameters).parsed
    rescue OAuth2::Error => e
      raise if seen[:refused]

      seen[:refused] = refusal.call(e)
      token = fresh_token.call
      next
    end
    seen[:ids] += page['data'].map { |record| record['id'] }
    seen[:count] = page['meta']['count']
    if offset.zero? && JOB == 'pause'
      puts 'paused'
      $stdout.flush
      $stdin.gets
    end
    offset += 100
  end
end

begin
  JOB == 'grant' ? client.password.get_token('ana', 'x') : walk.call
rescue OAuth2::Error => e
  seen[:refused] = refusal.call(e)
end
puts JSON.generate(seen)
