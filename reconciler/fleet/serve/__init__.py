"""The dashboard of a fleet: pages, the JSON API, events and webhooks over HTTP.

app        the application                             single     the person of this machine
site       what every request needs                    oidc       the person of an OpenID Connect provider
settings   what the fleet file says of people          pushes     what a forge says of a push
guard      hosts, origins, sizes, headers              feed       what changed, for everybody who looks
callers    who asks, and what they may see             filled     rows as what pages show
errors     what is wrong, for people and programs      documents  the documents of the API
routes     what can be asked                           run        the server

It starts no run and applies nothing: it reads rows and writes decisions (docs/decisions/0026-a-fleet-for-people.md).
"""
