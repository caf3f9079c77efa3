"""The dashboard of a fleet: pages, the JSON API, events and webhooks over HTTP.

run        the application and its server        single     the person of this machine
site       shared by all requests                oidc       the person of an OpenID Connect provider
settings   roles and secrets of the fleet file   pushes     the push of a forge's webhook
connections  the limits of those who wait        guard      hosts, origins, sizes, times, headers
feed       changes for open pages
callers    callers and their permissions         filled     rows as views of pages
errors     errors, for people and programs       documents  the documents of the API
routes     the endpoints

It starts no run and applies nothing: it reads rows and writes decisions (docs/decisions/0026-a-fleet-for-people.md).
"""
