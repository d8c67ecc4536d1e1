// introspect.mjs BASE SECRET LIVE ENDED: asks about tokens with openid-client, then revokes one.
import * as client from 'openid-client'

const [base, secret, live, ended] = process.argv.slice(2)
const server = {
  issuer: base,
  introspection_endpoint: `${base}/api/v1/auth/introspect`,
  revocation_endpoint: `${base}/api/v1/auth/revoke`,
}
const answers = {}
const methods = { basic: client.ClientSecretBasic(secret), post: client.ClientSecretPost(secret) }
for (const [name, method] of Object.entries(methods)) {
  const config = new client.Configuration(server, 'any client', secret, method)
  client.allowInsecureRequests(config)
  answers[name] = {
    live: await client.tokenIntrospection(config, live),
    ended: await client.tokenIntrospection(config, ended, { token_type_hint: 'access_token' }),
  }
}
const stranger = new client.Configuration(server, 'any', 'x', client.ClientSecretBasic('wrong'))
client.allowInsecureRequests(stranger)
answers.stranger = await client.tokenIntrospection(stranger, live).then(
  () => 'answered',
  (error) => error.cause?.[0]?.scheme ?? error.code,
)
const config = new client.Configuration(server, 'any', secret, methods.basic)
client.allowInsecureRequests(config)
await client.tokenRevocation(config, live)
await client.tokenRevocation(config, live)
answers.revoked = await client.tokenIntrospection(config, live)
console.log(JSON.stringify(answers))
